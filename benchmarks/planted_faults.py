"""Planted faults: how many the checkers find, at which lines, and what they say of the right programs.

    python -m benchmarks.planted_faults [--only TEXT] [--removals]

Pairs written by hand are in `tests/checkers`. With `--removals` also every barrier, wait, commit, fence and bounds test
of the examples is removed, one at a time, and the example runs under the checkers.
"""

from __future__ import annotations

import argparse
import io
import linecache
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from tests.checkers.block_pairs import BLOCKS
from tests.checkers.corpus import PAIRS
from tests.checkers.hopper_pairs import HOPPER
from tests.checkers.pairs import is_found, judged
from tests.checkers.removals import Removal, removals
from triptych.support.checkers import DEFAULT
from triptych.support.config import override
from triptych.support.errors import TriptychError
from triptych.support.finding_errors import error_of
from triptych.support.findings import Collection, collecting
from triptych.tools.checked_program import program_of

EXAMPLES = Path("examples/kernels")
_WAIT_ORDERS = "the wait of a pipeline is a barrier between the last read of a stage and the copy that fills it again"
_OWN_ZEROS = "a thread clears what its own copies fill, and the first wait of the pipeline comes before all reads"
HARMLESS = {
    (file, line): reason
    for file in ("sgemm.py", "tensor_core_gemm.py")
    for line, reason in {
        "pipe.producer_acquire(filling)": _WAIT_ORDERS,
        "pipe.consumer_release(using)": _WAIT_ORDERS,
        "cute.arch.sync_threads()": _OWN_ZEROS,
    }.items()
}
"""Lines that may go, by their file and text, with the reason."""

FAILED = "the program itself fails"
"""What is said of removals that no checker sees, but the program does."""


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


def said(collection: Collection, error: BaseException | None) -> str:
    """What the checkers say, in a line; nothing if they say nothing."""
    if collection.faults:
        worst = error_of(collection.faults[0])
        sites = (collection.faults[0].before, collection.faults[0].now)
        lines = sorted({site.spans[0].line for site in sites if site.spans})
        return f"{worst.code} lines {lines}: {worst.instead}"
    if isinstance(error, TriptychError):
        return f"{error.code} line {error.span.line if error.span else '?'}: {error.title}"
    return "" if error is None else f"{FAILED} with {type(error).__name__}: {error}"


def ran(program: Path) -> str:
    """Run an example under the checkers, in this process: most of a run of its own is what comes before."""
    error: BaseException | None = None
    sys.path.insert(0, str(program.parent))
    with override(debug=DEFAULT, cache=False), collecting() as collection, redirect_stdout(io.StringIO()):
        try:
            program_of(str(program), "", (), cutlass=False)()
        except SystemExit as end:
            error = end if end.code not in (None, 0) else None
        except Exception as raised:  # of the program without its line
            error = raised
    sys.path.remove(str(program.parent))
    return said(collection, error)


def removed(fault: Removal, folder: Path) -> bool:
    """Whether the checkers find that a line is missing."""
    for beside in fault.file.parent.glob("*.py"):
        (folder / beside.name).write_text(beside.read_text(encoding="utf-8"), encoding="utf-8")
    program = folder / fault.file.name
    program.write_text(fault.text(), encoding="utf-8")
    linecache.checkcache()
    found = ran(program)
    reason = HARMLESS.get((fault.file.name, fault.removed), "") if not found else ""
    verdict = "found   " if found else "harmless" if reason else "MISSED  "
    if found.startswith(FAILED):
        verdict = "failed  "
    print(f"{verdict} {fault.name} without `{fault.removed}`: {found or reason}", flush=True)
    return bool(found or reason)


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
            print(f"{len(verdicts)} lines removed: {sum(verdicts)} found, failed or harmless")
    return 0 if found == count and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
