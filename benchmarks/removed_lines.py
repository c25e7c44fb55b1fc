"""Lines that order or bound accesses, removed one at a time: what the checkers say of each program without one.

    python -m benchmarks.removed_lines [--only TEXT] [FILE ...]

Every barrier, wait, commit, fence and test of bounds of the kernels of the examples and of the differential suite goes
in turn (`tests/checkers/removals.py`), and what uses it runs under all checkers. A line may be

    found       a checker names it
    failed      no checker does, but the result is wrong
    harmless    nothing is wrong without it, for the reason that `tests/checkers/harmless.py` gives
    not seen    it is wrong, and the reason why no run here shows it is there, too
    MISSED      none of these
"""

from __future__ import annotations

import argparse
import io
import linecache
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from tests.checkers.harmless import HARMLESS, NOT_SEEN
from tests.checkers.removals import Removal, reaching, removals
from tests.differential.kernel_suite import cases
from triptych.sanitizer.finding_errors import error_of
from triptych.sanitizer.findings import Collection, collecting
from triptych.support.config import override
from triptych.support.errors import TriptychError
from triptych.workbench.contracts.loading import load_contract, load_module

EXAMPLES, SUITE = Path("examples/kernels"), Path("tests/differential/kernel_suite")
CHECKERS = "bounds,races,init,async,global"
FAILED = "the result is wrong"


def said(collection: Collection, error: BaseException | None) -> str:
    """What the checkers say, in a line; nothing if they say nothing."""
    if collection.faults:
        worst = error_of(collection.faults[0])
        sites = (collection.faults[0].previous, collection.faults[0].current)
        lines = sorted({site.spans[0].line for site in sites if site.spans})
        return f"{worst.code} lines {lines}: {worst.instead}"
    if isinstance(error, TriptychError):
        return f"{error.code} line {error.span.line if error.span else '?'}: {error.title}"
    return "" if error is None else f"{FAILED}, {type(error).__name__}: {str(error)[:100]}".splitlines()[0]


def ran(program: Callable[[], None]) -> str:
    """Run a program under the checkers, in this process: most of a run of its own is what comes before."""
    error: BaseException | None = None
    with override(debug=CHECKERS, cache=False), collecting() as collection, redirect_stdout(io.StringIO()):
        try:
            program()
        except Exception as raised:  # of the program without its line
            error = raised
    return said(collection, error)


def example(fault: Removal, folder: Path) -> str:
    """All cases of a kernel file but those that are for measuring."""
    for beside in fault.file.parent.glob("*.py"):
        (folder / beside.name).write_text(beside.read_text(encoding="utf-8"), encoding="utf-8")
    file = folder / fault.file.name
    file.write_text(fault.text(), encoding="utf-8")
    linecache.checkcache()

    def run() -> None:
        contract = load_contract(file, f"without_{fault.file.stem}_{fault.line}_{fault.columns[0]}")
        for case in contract.cases.values():
            if not case.get("bench"):
                inputs = contract.inputs(0, case)
                expected = np.asarray(contract.reference(*inputs), np.float64)
                found = np.asarray(contract.kernel(*inputs), np.float64)
                assert np.allclose(found, expected, rtol=1e-2, atol=1e-2)

    return ran(run)


def suite(fault: Removal, folder: Path) -> str:
    """The cases that use the kernel, on a few values each, until one says something."""
    text = fault.text()
    file = folder / f"{fault.file.stem}_{fault.line}_{fault.columns[0]}.py"
    file.write_text(text, encoding="utf-8")
    linecache.checkcache()
    with short_cases() as found:
        load_module(file, f"without_{file.stem}")
    wanted = reaching(text, fault.line)
    runs = (ran(run) for name, run in found.items() if name in wanted)
    return next((each for each in runs if each), "")


@contextmanager
def short_cases() -> Iterator[dict[str, Callable[[], None]]]:
    """Modules of the suite that are run inside register their cases here, without a search for the smallest one."""
    found: dict[str, Callable[[], None]] = {}
    kept = cases.case

    def case(examples: int, **drawn: Any) -> Callable[[cases.Check], cases.Check]:
        profile = settings(
            max_examples=examples,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )

        def register(check: cases.Check) -> cases.Check:
            found[check.__name__] = profile(given(**drawn)(check))
            return check

        return register

    cases.case = case  # type: ignore[assignment]  # draws fewer values
    try:
        yield found
    finally:
        cases.case = kept


def judged(fault: Removal, folder: Path) -> str:
    """A word for what became of a program without a line."""
    found = (example if fault.file.parent == EXAMPLES else suite)(fault, folder)
    verdict, reason = ("failed" if found.startswith(FAILED) else "found", found) if found else excused(fault)
    print(f"{verdict:8} {fault.name} without `{fault.removed}`: {reason}", flush=True)
    return verdict


def excused(fault: Removal) -> tuple[str, str]:
    """Why nothing was found."""
    line = fault.file.read_text(encoding="utf-8").splitlines()[fault.line - 1].strip()
    for verdict, reasons in (("harmless", HARMLESS), ("not seen", NOT_SEEN)):
        for place in (fault.name, fault.file.name):
            if reason := reasons.get((place, line)) or reasons.get((place, fault.removed)):
                return verdict, reason
    return "MISSED", ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--only", default="", metavar="TEXT", help="lines whose file:line, or text, has this")
    options = parser.parse_args()
    files = options.files or [*sorted(EXAMPLES.glob("*.py")), *sorted(SUITE.glob("*.py"))]
    faults = [fault for fault in removals(files) if options.only in f"{fault.name} {fault.removed}"]
    with tempfile.TemporaryDirectory() as folder:
        verdicts = Counter(judged(fault, Path(folder)) for fault in faults)
    print(f"{len(faults)} lines removed:", ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))
    return 1 if verdicts["MISSED"] else 0


if __name__ == "__main__":
    sys.exit(main())
