# ===- test_report.py - The page that shows a kernel's schedule ------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""lpfa-compile --emit=report, as a browser without network shows it."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

import lpfa
from harness import BIN_DIR, tool

SOURCE = Path(__file__).parent / "attention-forward.mlir"
BROWSER = shutil.which("chromium")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The report of one kernel."""
    tool("lpfa-compile")
    text = "\n".join(line for line in SOURCE.read_text().splitlines()
                     if not line.startswith("//"))
    begin = text.index("func.func @attention_forward(")
    module = text[begin:text.index("\n}\n", begin) + 3]
    out = tmp_path_factory.mktemp("report")
    lpfa.compile(module, out, emit=["report"], bin_dir=BIN_DIR)
    assert [path.name for path in out.iterdir()] == ["report.html"]
    return out / "report.html"


@pytest.fixture(scope="module")
def data(page):
    embedded = re.search(r'id="data">(.*?)</script>', page.read_text(), re.S)
    return json.loads(embedded[1])


def test_stands_alone(page):
    """Nothing is loaded: the one address is the name of SVG."""
    addresses = set(re.findall(r"https?://[^\"'`\s]+", page.read_text()))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_time_follows_barriers(data):
    """An arrival is before the wait it ends; memory is used within a life."""
    (kernel,) = data["kernels"]
    assert kernel["arrows"] and kernel["lifetimes"] and kernel["overlaps"]
    for arrow in kernel["arrows"]:
        before, after = (kernel["events"][arrow[end]] for end in ("from", "to"))
        assert before["time"] < after["time"]
    # Nothing that shares columns lives at one time, but for what one step of
    # the tensor core hands over.
    tensor = [life for life in kernel["lifetimes"]
              if kernel["buffers"][life["buffer"]]["space"] == "tensor"]
    for i, a in enumerate(tensor):
        for b in tensor[:i]:
            if a["begin"] < b["end"] and b["begin"] < a["end"]:
                assert a["to"] <= b["from"] or b["to"] <= a["from"], (a, b)


class Rendered(HTMLParser):
    """Counts elements by class, and collects the text and the table cells."""

    def __init__(self, dom):
        super().__init__()
        self.classes, self.text = {}, []
        self.feed(dom)

    def handle_starttag(self, tag, attrs):
        for name in (dict(attrs).get("class") or "").split():
            self.classes[name] = self.classes.get(name, 0) + 1

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.skipif(not BROWSER, reason="no chromium to show the page")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_in_a_browser(page, data, dark, tmp_path):
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
         f"--user-data-dir={tmp_path}", "--virtual-time-budget=2000",
         *(["--blink-settings=preferredColorScheme=0"] if dark else []),
         page.as_uri()],
        capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    dom = done.stdout
    rendered = Rendered(dom[:dom.index('id="data"')])
    (kernel,) = data["kernels"]
    assert rendered.classes["tile"] == len(kernel["lifetimes"])
    assert rendered.classes["event"] == len(kernel["events"])
    assert rendered.classes["arrow"] == len(kernel["arrows"])
    assert rendered.classes["chain"] == len(kernel["overlaps"])
    for what in ("roles", "buffers", "barriers"):
        for entry in kernel[what]:
            assert entry["name"] in rendered.text
    text = " ".join(rendered.text)
    assert "undefined" not in text and "NaN" not in text
