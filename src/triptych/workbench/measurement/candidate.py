"""Candidates of a measurement: a kernel with inputs of its own that can be called, restored and checked.

A call has always the same arguments, or arguments that no cache has. A kernel that changes its inputs gets them back
before each call, outside of what is measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, Protocol

from triptych.workbench.arrays import arrays_in, clone, digest, mapped, overwrite, size_in_bytes
from triptych.workbench.contracts.contract import Contract, Function, Tolerance
from triptych.workbench.measurement.machine import free_memory, last_cache
from triptych.workbench.measurement.sampling import WARM_SECONDS, warm_up
from triptych.workbench.verification.verifying import check_again

_MOST_SETS = 2048
_SHARE = 4
"""At most this part of the free memory is taken for sets of arguments."""
UNKNOWN_CACHE = 64 << 20
"""Bytes of a last cache that the system does not tell of: more than most have."""


class Hot:
    """The same arguments again and again."""

    def __init__(self, contract: Contract, function: Function, inputs: Sequence[Any]) -> None:
        self.inputs = list(inputs)
        self._kept = mapped(inputs, clone) if contract.restores else []
        self._function, self._contract = function, contract
        self.last: Any = None

    def __call__(self) -> None:
        self.last = self._function(*self.inputs)

    def restore(self) -> None:
        """Give changed inputs their values back."""
        for target, source in zip(arrays_in(self.inputs), arrays_in(self._kept), strict=bool(self._kept)):
            overwrite(target, source)

    def outputs(self) -> list[Any]:
        """Of the last call."""
        returned = self.last
        return [self.inputs[i] for i in sorted(self._contract.mutates)] if returned is None else arrays_in(returned)


class Cold:
    """Sets of arguments that are used in turn, more than the last cache holds."""

    def __init__(self, function: Function, sets: list[list[Any]]) -> None:
        self._function = function
        self._turns = cycle(sets)
        self.count = len(sets)

    def __call__(self) -> None:
        self._function(*next(self._turns))


def cold_sets(inputs: Sequence[Any], made: Mapping[str, int] | None = None) -> list[list[Any]]:
    """Copies of the inputs, twice as many bytes as the last cache has; one set if there is no room for so many."""
    size = max(1, sum(size_in_bytes(array) for array in arrays_in(inputs)))
    cache = (made or {}).get("cache", last_cache() or UNKNOWN_CACHE)
    room = (made or {}).get("room", free_memory() // _SHARE)
    count = 2 * cache // size + 2
    if count > _MOST_SETS or count * size > room:
        return [list(inputs)]
    return [mapped(inputs, clone) for _ in range(count)]


class Candidate(Protocol):
    """What is measured in turns with another, here or in a process of its own."""

    mutates: bool

    def __call__(self) -> None:
        """Once."""

    def restore(self) -> None:
        """Give changed inputs their values back."""

    def problems(self, tolerance: Tolerance | None) -> list[str]:
        """What is wrong with the result of the last call."""


class LocalCandidate:
    """A kernel in this process, warmed up."""

    def __init__(
        self,
        contract: Contract,
        case: Mapping[str, Any],
        seed: int,
        beside: LocalCandidate | None = None,
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


def problems_of_both(first: Candidate, second: Candidate, tolerance: Tolerance | None) -> list[str]:
    """What is wrong with the results after timing."""
    said = []
    for which, side in (("first", first), ("second", second)):
        if not side.mutates:
            side()  # both may have written to the same memory
        said += [f"the {which}: {text}" for text in side.problems(tolerance)]
    return said
