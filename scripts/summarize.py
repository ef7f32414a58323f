"""Adds up results in JUnit's format: says why tests were skipped, which failed,
and ends with a line "N passed, N failed, N skipped"."""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter


def main(paths):
    passed, failed, reasons = 0, [], Counter()
    for path in paths:
        try:
            cases = list(ElementTree.parse(path).iter("testcase"))
        except (OSError, ElementTree.ParseError) as error:
            failed.append(f"no results: {error}")
            continue
        if not cases:
            failed.append(f"no tests in {path}")
        for case in cases:
            name = f"{case.get('classname')} :: {case.get('name')}"
            skipped = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(name)
            elif skipped is not None:
                reasons[skipped.get("message") or "no reason given"] += 1
            else:
                passed += 1

    for reason, count in sorted(reasons.items()):
        print(f"skipped {count}: {reason}")
    for name in failed:
        print(f"failed: {name}")
    line = f"{passed} passed, {len(failed)} failed"
    if reasons:
        line += f", {sum(reasons.values())} skipped"
    print(line)
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
