"""Adds up results in JUnit's format: says why tests were skipped, which failed,
and ends with a line "N passed, N failed, N skipped"."""

import sys
import xml.etree.ElementTree as ElementTree


def main(paths):
    passed, failed, skipped = 0, [], []
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
            skip = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(name)
            elif skip is not None:
                reason = (skip.get("message") or "no reason given").splitlines()
                skipped.append(f"{name}: {reason[-1].strip()}")
            elif case.get("status") == "notrun":
                skipped.append(f"{name}: disabled")
            else:
                passed += 1

    for text in skipped:
        print(f"skipped: {text}")
    for text in failed:
        print(f"failed: {text}")
    line = f"{passed} passed, {len(failed)} failed"
    if skipped:
        line += f", {len(skipped)} skipped"
    print(line)
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
