"""Planted faults: how many the checkers find, at which lines, and what they say of the right programs.

    python -m benchmarks.planted_faults [--only TEXT] [--removals]

Pairs written by hand are in `tests/checkers`. With `--removals` also every barrier, wait and commit of the examples is
removed, one at a time, and the example run by `triptych check`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.checkers.block_pairs import BLOCKS
from tests.checkers.corpus import PAIRS
from tests.checkers.hopper_pairs import HOPPER
from tests.checkers.pairs import is_found, judged
from tests.checkers.removals import Removal, removals

EXAMPLES = Path("examples/kernels")
SECONDS = 300


def written(only: str, folder: Path) -> tuple[int, int, int]:
    """Pairs, wrong programs that were found at their lines, right programs with findings."""
    pairs = [pair for pair in (*PAIRS, *HOPPER, *BLOCKS) if only in pair.name]
    found = alarms = 0
    for pair in pairs:
        wrong, right = (judged(pair, folder, wrong=which) for which in (True, False))
        found += is_found(pair, wrong)
        alarms += bool(right.findings)
        if not is_found(pair, wrong) or right.findings:
            print(f"{pair.name}: wrong {wrong.findings or 'not found'}, right {right.findings or 'clean'}", flush=True)
    return len(pairs), found, alarms


def checked(program: Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the report of `triptych check`."""
    command = [sys.executable, "-m", "triptych", "check", "--json", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else {}


def said(report: dict[str, Any]) -> str:
    """The first finding in a line."""
    findings = report.get("findings") or ([report["error"]] if report.get("error") else [])
    if not findings:
        return "nothing"
    first = findings[0]
    spans = [first.get("span"), *(each["span"] for each in first.get("related", ())[:1])]
    lines = sorted({span["line"] for span in spans if span})
    return f"{first.get('code', '')} lines {lines}: {first.get('instead', first['title'])}"


def removed(fault: Removal, folder: Path) -> bool:
    """Whether the checkers find that a line is missing."""
    for beside in fault.file.parent.glob("*.py"):
        (folder / beside.name).write_text(beside.read_text(encoding="utf-8"), encoding="utf-8")
    program = folder / fault.file.name
    program.write_text(fault.text(), encoding="utf-8")
    code, report = checked(program)
    print(f"{'found ' if code else 'MISSED'} {fault.name} without `{fault.removed}`: {said(report)}", flush=True)
    return bool(code)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="pairs whose name, or examples whose file, has this")
    parser.add_argument("--removals", action="store_true", help="remove lines of the examples, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        count, found, alarms = written(options.only, Path(folder))
        print(f"{count} pairs: {found} found at their lines, {alarms} right programs with findings")
        verdicts = []
        if options.removals:
            faults = [fault for fault in removals(sorted(EXAMPLES.glob("*.py"))) if options.only in fault.name]
            verdicts = [removed(fault, Path(folder)) for fault in faults]
            print(f"{len(verdicts)} lines removed: {sum(verdicts)} found")
    return 0 if found == count and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
