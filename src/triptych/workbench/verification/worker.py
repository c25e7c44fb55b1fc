"""Worker of `triptych verify`, in the child process: what was found goes back as JSON.

With `--check` each case runs once under the checkers, blocks in any order, before anything else does: a kernel that
writes where it should not is told by its line here, and would end the process in a build without checkers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from triptych.sanitizer.finding_errors import error_of
from triptych.sanitizer.findings import collecting
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import in_one_line
from triptych.workbench.arrays import clone, mapped
from triptych.workbench.contracts.contract import Contract, Tolerance, refuse_unknown_cases
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.verification.findings import Verification
from triptych.workbench.verification.verifying import VerifyOptions, begin, check_again, verify


def worker_main(request: dict[str, Any], doing: Callable[[str], None]) -> dict[str, Any]:
    """What was found, as plain data."""
    doing(f"loading {request['file']}")
    contract = load_contract(request["file"])
    refuse_unknown_cases(contract, request.get("cases", ()))
    found = verify(
        contract,
        VerifyOptions(
            tolerance_from(request),
            request.get("cases", ()),
            request["seeds"],
            request.get("allow_weak", False),
            doing=doing,
        ),
    )
    return {**asdict(found), "verdict": found.verdict, "reasons": found.reasons}


def tolerance_from(request: dict[str, Any]) -> Tolerance | None:
    """The one of the command line; what is left out of a pair is zero."""
    rtol, atol = request.get("rtol"), request.get("atol")
    return None if rtol is None and atol is None else Tolerance(rtol or 0.0, atol or 0.0)


def check_main(request: dict[str, Any], doing: Callable[[str], None]) -> dict[str, Any]:
    """What was found, as plain data."""
    doing(f"loading {request['file']}")
    contract = load_contract(request["file"])
    wanted, started = request.get("cases", ()), time.perf_counter()
    refuse_unknown_cases(contract, wanted)
    found = begin(contract, VerifyOptions(tolerance_from(request), wanted, seeds=1))
    for name, case in contract.cases.items() if found.verdict == "pass" else ():
        if not wanted or name in wanted:
            doing(f"kernel_fn under the checkers ({name})")
            _check(contract, name, case, found, tolerance_from(request))
    found.seconds = time.perf_counter() - started
    return {**asdict(found), "verdict": found.verdict, "reasons": found.reasons}


def _check(
    contract: Contract, name: str, case: Mapping[str, Any], found: Verification, tolerance: Tolerance | None
) -> None:
    inputs = contract.inputs(0, case)
    kept = mapped(inputs, clone)
    with collecting() as collection:
        try:
            outputs = contract.run(contract.kernel, inputs)
        except Exception as error:  # of the user's kernel: told
            text = error.text() if isinstance(error, TriptychError) else in_one_line(error)
            found.add("checker", text, name, 0)
            outputs = None
    for finding in collection.faults:
        found.add("checker", error_of(finding).text(), name, 0)
    if outputs is None or found.verdict == "fail":
        return
    for text in check_again(contract, kept, outputs, tolerance):
        found.add("numbers", f"wrong where blocks run in another order: {text}", name, 0)
