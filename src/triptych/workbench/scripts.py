"""`main(__name__)` at the end of a kernel file: running the file verifies it, `triptych bench` measures it."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path

from triptych.workbench.contracts.contract import BENCH
from triptych.workbench.contracts.loading import contract_of
from triptych.workbench.verification.text import text_of
from triptych.workbench.verification.verifying import VerifyOptions, verify


def main(name: str, seeds: int = 1) -> None:
    """Verify the module of that name if it is the script, and end with an exit code."""
    if name != "__main__":
        return
    module = sys.modules[name]
    contract = contract_of(Path(str(module.__file__)), module)
    small = [case for case, parameters in contract.cases.items() if not parameters.get(BENCH)]
    if small:  # what is for measuring is large; `triptych verify` has time for it
        contract = replace(contract, cases={case: contract.cases[case] for case in small})
    found = verify(contract, VerifyOptions(seeds=seeds))
    print(text_of({**asdict(found), "verdict": found.verdict, "file": Path(found.file).name}))
    raise SystemExit(found.verdict not in ("pass", "skipped"))
