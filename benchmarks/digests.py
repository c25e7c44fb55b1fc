"""The machine code of every program of `every_kernel`, as digests: what did a change of the compiler change?

    python -m benchmarks.digests --write before.json     digest and instruction count of every program and target
    python -m benchmarks.digests --against before.json   compare: same or different, and the instructions of both
    python -m benchmarks.digests --only example          rows whose name has this text

Targets are the CPU (its assembly) and PTX for sm_80, sm_90a and sm_120a. A dash: the architecture lacks an instruction.
Names of files do not count, so that two checkouts can be compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from benchmarks.every_kernel import ROWS, Compilation
from triptych.objectstage.device_errors import ArchitectureError
from triptych.support.errors import TriptychWarning

TARGETS = ("cpu", "nvptx:sm_80", "nvptx:sm_90a", "nvptx:sm_120a")
_LABEL_OR_DIRECTIVE = re.compile(r"^\s*([.@{}()/#]|$)|:\s*$|^\S+:")
_FILE_NAMES = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|//.*$|#.*$|^[ \t]*\.(?:size|section)\b.*\n?|^\.global .* assert_\w+\[.*$', re.MULTILINE
)
"""Comments, and texts that name files, by which checkouts differ: assembly has them in quotes (others inside have
backslashes), PTX as the bytes of what an assertion says. LLVM gives a function of the large code model a section of its
own in one run and none in the next: sections do not count either."""

Record = dict[str, dict[str, tuple[str, int]]]
"""By row and target: a digest and the number of instructions."""


def instructions(text: str) -> int:
    """Lines of assembly that are neither labels nor directives."""
    return sum(not _LABEL_OR_DIRECTIVE.search(line) for line in text.splitlines())


def measured(programs: list[Compilation], target: str) -> tuple[str, int]:
    """Of all programs of a row: names of files and places in them do not count."""
    digest, count = hashlib.sha256(), 0
    for program in programs:
        try:
            made = program(target)
        except ArchitectureError:
            return "-", 0
        text = made.asm if target == "cpu" else made.__ptx__
        digest.update(_FILE_NAMES.sub("", text).encode())
        count += instructions(text)
    return digest.hexdigest()[:12], count


def measure(only: str) -> Record:
    """Every row that has this text in its name."""
    rows = {name: make for name, make in ROWS.items() if only in name}
    record: Record = {}
    for number, (name, make) in enumerate(rows.items(), start=1):
        if sys.stderr.isatty():
            print(f"\r{number}/{len(rows)} {name:60.60}", end="", file=sys.stderr, flush=True)
        with redirect_stdout(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore", TriptychWarning)
            programs = make()
            record[name] = {target: measured(programs, target) for target in TARGETS}
    return record


def compare(before: Record, after: Record) -> None:
    """One line for every difference, then the counts."""
    same = different = 0
    for name, targets in after.items():
        for target, (digest, count) in targets.items():
            if name not in before:
                continue
            old_digest, old_count = before[name][target]
            if digest == old_digest:
                same += 1
            else:
                different += 1
                change = 100 * (count - old_count) / max(old_count, 1)
                print(f"{name:58} {target:13} {old_count:7} -> {count:7} instructions ({change:+.1f} %)")
    print(f"{same} same, {different} different")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    record = measure(options.only)
    if options.write:
        options.write.write_text(json.dumps(record, indent=1))
    if options.against:
        compare(json.loads(options.against.read_text()), record)
    if not options.write and not options.against:
        print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
