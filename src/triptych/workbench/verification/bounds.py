"""How far a result may be from float64: what the user says, or what the reference does in its own precision.

Without a word of the user, a kernel may be `SLACK` times as far off as the reference in its own precision, in two
measures that must both hold (the largest error, and the largest error in units of the last place), and one unit more.
One measure alone would excuse small numbers beside large ones, the other would refuse every sum that cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from triptych.workbench.arrays import (
    Array,
    bits_of,
    dtype_name,
    is_floating,
    is_tensor,
    mapped,
    tiny,
    to_float64,
    torch,
    ulp,
    values_of,
)
from triptych.workbench.contracts.contract import Contract, Tolerance

SLACK = 32.0
"""Another order of summation costs so much: a few hundred numbers one after the other, and a tree of such sums."""
NARROW_SLACK = 4.0
"""For types of less than 32 bits, whose sums are rounded once at the end."""
_FEW = 256
"""Elements of an output below which its own errors are too few to know the largest from."""
_PERTURBATIONS = 4
_UNLUCKY = 3.0
"""The largest of so few changes may be this much smaller than the usual one."""


@dataclass(frozen=True, slots=True)
class Expected:
    """One output as it should be: exactly, in the reference's own precision, and how far off it may be."""

    exact: np.ndarray
    own: Array
    own_values: np.ndarray
    bound: np.ndarray


def expect(contract: Contract, inputs: Sequence[Any], own: list[Array], given: Tolerance | None) -> list[Expected]:
    """What each output should be, and its bound."""
    exact = [values_of(array) for array in contract.expected_exactly(inputs)]
    bounds = _bounds_of_the_file(contract, inputs) if given is None else None
    tolerance = given or contract.tolerance
    sensitivity = _sensitivity(contract, inputs, exact) if tolerance is None and bounds is None else []
    expected = []
    for i, (array, true) in enumerate(zip(own, exact, strict=True)):
        own_values = values_of(array)
        if bounds is not None:
            bound = np.broadcast_to(bounds[i], true.shape)
        elif tolerance is not None:
            bound = tolerance.atol + tolerance.rtol * np.abs(np.where(np.isfinite(true), true, 0.0))
        else:
            floor = sensitivity[i] if sensitivity else 0.0
            bound = usual_bound(true, own_values, dtype_name(array), floor)
        expected.append(Expected(true, array, own_values, np.asarray(bound, np.float64)))
    return expected


def usual_bound(exact: np.ndarray, own: np.ndarray, dtype: str, floor: float = 0.0) -> np.ndarray:
    """So many times the reference's own error, and one unit of the last place; integers are exact."""
    if not is_floating(dtype):
        return np.zeros(exact.shape)
    unit = ulp(exact, dtype)
    with np.errstate(invalid="ignore"):
        error = np.where(np.isfinite(exact) & np.isfinite(own), np.abs(own - exact), 0.0)
    slack = NARROW_SLACK if bits_of(dtype) < 32 else SLACK
    largest = max(float(np.max(error, initial=0.0)), floor)
    in_units = float(np.max(error / unit, initial=0.0))
    allowed = np.minimum(largest, in_units * unit) if not floor else np.full(exact.shape, largest)
    # What is smaller than the last place of the last place of the largest number has no digits that count: an
    # exponential of a large negative number, whose argument is rounded, has few right ones.
    largest_number = float(np.max(np.abs(np.where(np.isfinite(exact), exact, 0.0)), initial=0.0))
    negligible = largest_number * float(ulp(np.ones(1), dtype)[0]) ** 2
    return np.asarray(slack * allowed + unit + negligible + tiny(dtype))


def _bounds_of_the_file(contract: Contract, inputs: Sequence[Any]) -> list[Any] | None:
    if contract.error_bound is None:
        return None
    given = contract.error_bound(*inputs)
    several = given if isinstance(given, list | tuple) else [given]
    return [np.asarray(values_of(bound) if not np.isscalar(bound) else bound, np.float64) for bound in several]


def _sensitivity(contract: Contract, inputs: Sequence[Any], exact: list[np.ndarray]) -> list[float]:
    """How much rounding the inputs once moves outputs of few elements; nothing for others, which know their errors."""
    if not any(0 < true.size < _FEW and true.dtype.kind == "f" for true in exact):
        return []
    moved = [0.0] * len(exact)
    for seed in range(_PERTURBATIONS):
        random = np.random.default_rng(seed)
        nudged = mapped(inputs, partial(_nudged, random=random))
        results = contract.run(contract.exact or contract.reference, nudged)
        for i, (result, true) in enumerate(zip(results, exact, strict=True)):
            change = np.abs(values_of(result) - true)
            moved[i] = max(moved[i], float(np.max(np.where(np.isfinite(change), change, 0.0), initial=0.0)))
    return [_UNLUCKY * amount if true.size < _FEW else 0.0 for amount, true in zip(moved, exact, strict=True)]


def _nudged(array: Array, random: np.random.Generator) -> Array:
    """The array in double precision, each number off by at most half a unit of its own type."""
    wide, name = to_float64(array), dtype_name(array)
    if not is_floating(name):
        return wide
    values = values_of(array)
    steps = random.uniform(-0.5, 0.5, values.shape) * ulp(values, name)
    return wide + torch().from_numpy(steps).to(wide.device) if is_tensor(wide) else wide + steps
