"""`triptych verify` inside the child process: the file is loaded, verified, and what was found goes back as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from triptych.workbench.contracts.contract import Tolerance, refuse_unknown_cases
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.verification.verifying import VerifyOptions, verify


def serve(request: dict[str, Any], doing: Callable[[str], None]) -> dict[str, Any]:
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
