"""One side of a comparison: a kernel with inputs of its own that can be called, restored and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from triptych.workbench.arrays import arrays_in, clone, digest, mapped
from triptych.workbench.contracts.contract import Contract, Tolerance
from triptych.workbench.measurement.calls import Hot
from triptych.workbench.measurement.sampling import WARM_SECONDS, warm_up
from triptych.workbench.verification.verifying import check_again


class Side(Protocol):
    """What is measured in turns with another, here or in a process of its own."""

    mutates: bool

    def __call__(self) -> None:
        """Once."""

    def restore(self) -> None:
        """Give changed inputs their values back."""

    def problems(self, tolerance: Tolerance | None) -> list[str]:
        """What is wrong with the result of the last call."""


class SideHere:
    """A kernel in this process, warmed up."""

    def __init__(
        self,
        contract: Contract,
        case: Mapping[str, Any],
        seed: int,
        beside: SideHere | None = None,
        warm_seconds: float | None = None,
    ) -> None:
        inputs = contract.inputs(seed, case)
        self.digests = [digest(one) for one in arrays_in(inputs)]
        if beside is not None and beside.digests == self.digests:
            beside.restore()
            inputs = beside.hot.inputs  # where memory lies should be no difference between the two
        self.mutates = contract.restores
        self._contract, self._kept = contract, mapped(inputs, clone)
        self.hot: Hot = Hot(contract, contract.kernel, inputs)
        seconds = WARM_SECONDS if warm_seconds is None else warm_seconds
        warm_up(self.hot, seconds, between=self.hot.restore if self.mutates else None)

    def __call__(self) -> None:
        self.hot()

    def restore(self) -> None:
        self.hot.restore()

    def problems(self, tolerance: Tolerance | None) -> list[str]:
        if self.mutates:
            self.restore()
            self()
        return check_again(self._contract, self._kept, self.hot.outputs(), tolerance)


def problems_of_both(first: Side, second: Side, tolerance: Tolerance | None) -> list[str]:
    """What is wrong with the results after timing."""
    said = []
    for which, side in (("first", first), ("second", second)):
        if not side.mutates:
            side()  # both may have written to the same memory
        said += [f"the {which}: {text}" for text in side.problems(tolerance)]
    return said
