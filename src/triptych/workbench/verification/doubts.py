"""The tolerance itself is tested: what is no result must fail under it, or these inputs prove nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from triptych.workbench.verification.bounds import Expected

_LARGE = 1024
"""Elements of an output that must refuse imitations by itself; smaller ones may leave it to other cases."""


@dataclass(slots=True)
class Doubts:
    """Which imitations passed, over all cases: a case of one element proves little, and need not."""

    _passed: dict[tuple[int, str], list[tuple[str, bool, bool]]] = field(default_factory=dict)

    def tried(self, output: int, expected: Expected, accepted: set[str], case: str) -> None:
        """What one case has accepted of all that was tried."""
        for name in IMITATIONS:
            tried = self._passed.setdefault((output, name), [])
            tried.append((case, name in accepted, is_large(expected)))

    def accepted(self) -> Iterator[tuple[str, str]]:
        """A sentence for each imitation that a large output accepts, or that nothing refuses; and the case."""
        for (output, name), tried in self._passed.items():
            passed = [case for case, passes, is_large in tried if passes and is_large]
            if not passed and all(passes for _, passes, _ in tried):
                passed = [tried[0][0]]
            if passed:
                yield f"under this bound, {name} would pass for output {output}: these inputs prove nothing", passed[0]


def is_large(expected: Expected) -> bool:
    """Whether so many numbers agree with no imitation by chance."""
    return bool(expected.exact.size >= _LARGE)


def accepted_by(expected: Expected, other: np.ndarray | None) -> Iterator[str]:
    """Names of what passes although it is no result; `other` is the reference of other inputs."""
    exact = np.asarray(expected.exact, np.float64)
    finite = np.isfinite(exact)
    if not finite.any():
        return
    for name, wrong in _imitations(exact, finite, other):
        if wrong.shape == exact.shape and _passes(wrong, exact, expected.bound, finite):
            yield name


IMITATIONS = ZEROS, OTHER, MEAN, EXCHANGED, MISSING = (
    "zeros",
    "the result of other inputs",
    "the mean everywhere",
    "the largest and the smallest element exchanged",
    "the last eighth missing",
)


def _imitations(exact: np.ndarray, finite: np.ndarray, other: np.ndarray | None) -> Iterator[tuple[str, np.ndarray]]:
    yield ZEROS, np.zeros_like(exact)
    if other is not None:
        yield OTHER, np.asarray(other, np.float64)
    if exact.size < 2:
        return
    yield MEAN, np.full_like(exact, exact[finite].mean())
    flat = exact.reshape(-1)
    numbers = np.where(finite.reshape(-1), flat, 0.0)
    exchanged = flat.copy()
    largest, smallest = int(np.argmax(numbers)), int(np.argmin(numbers))
    exchanged[[largest, smallest]] = flat[[smallest, largest]]
    yield EXCHANGED, exchanged.reshape(exact.shape)
    missing = flat.copy()
    missing[-max(1, flat.size // 8) :] = 0.0
    yield MISSING, missing.reshape(exact.shape)


def _passes(wrong: np.ndarray, exact: np.ndarray, bound: np.ndarray, finite: np.ndarray) -> bool:
    return bool(np.all(np.abs(wrong[finite] - exact[finite]) <= bound[finite]))
