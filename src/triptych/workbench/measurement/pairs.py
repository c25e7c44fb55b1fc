"""Two kernel files that are measured in turns: in shared processes if they can be loaded together, else apart."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from triptych.support.tracebacks import in_one_line
from triptych.workbench.contracts.beside import clash, files_beside
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.errors import ContractError
from triptych.workbench.measurement.apart import SideApart
from triptych.workbench.measurement.benching import BenchOptions, Case, bench_apart, bench_pair

Doing = Callable[[str], None]


class Pair:
    """Both files, loaded."""

    def __init__(self, files: list[Path], doing: Doing, apart: bool = False) -> None:
        self._files, self._path, self._doing = files, list(sys.path), doing
        doing(f"loading {files[0]}")
        self.first = load_contract(files[0], "triptych_contract_0")
        self.why = "as it was asked for" if apart else clash(self.first, files[1])
        """Why each has a process of its own; empty if they share one."""
        doing(f"loading {files[1]}")
        self._second = None if self.why else self._shared(files[1])
        if self._second is None:
            with SideApart(files[1], self._path) as side:
                side.wait()
                self.file, requires, beside = side.kernel, side.requires, side.beside
        else:
            self.file, requires, beside = self._second.file, self._second.requires, files_beside(self._second)
        self.requires = self.first.requires or requires
        self.beside = [files_beside(self.first), beside]

    def measure(self, name: str, case: Case, options: BenchOptions) -> dict[str, Any]:
        """One case."""
        if self._second is not None:
            return bench_pair(self._files, name, case, options, self._doing)
        return bench_apart(self._files, self._path, name, case, options, self._doing)

    def _shared(self, file: Path) -> Contract | None:
        try:
            return load_contract(file, "triptych_contract_1")
        except ContractError:
            raise
        except Exception as error:  # of the user's file: alone it may be loaded, and if not its process says why
            self.why = f"the second cannot be loaded beside the first: {in_one_line(error)}"
            return None
