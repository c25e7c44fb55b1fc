"""Comparison of one output with what it should be: shape, type, NaN, numbers, and where the wrong ones lie.

How far a result may be from float64 is what the user says, or what the reference does in its own precision. Without a
word of the user, a kernel may be `SLACK` times as far off as the reference in its own precision, in two measures that
must both hold (the largest error, and the largest error in units of the last place), and one unit more. One measure
alone would excuse small numbers beside large ones, the other would refuse every sum that cancels. What exceeds the
second only is looked at again: a number may be as far off as rounding the inputs once moves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from triptych.support.dataclass import dataclass
from triptych.workbench.arrays import (
    Array,
    bits_of,
    device_name,
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
from triptych.workbench.verification.findings import Numbers, Reason

SLACK = 32.0
"""Another order of summation costs so much: a few hundred numbers one after the other, and a tree of such sums."""
NARROW_SLACK = 4.0
"""For types of less than 32 bits, whose sums are rounded once at the end."""
_FEW = 256
"""Elements of an output below which its own errors are too few to know the largest from."""
_SUMS = 32
"""Bits in which types of fewer bits are added up."""
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


def expect(
    contract: Contract, inputs: Sequence[Any], own: list[Array], given: Tolerance | None, outputs: Sequence[Array]
) -> list[Expected]:
    """What each output should be, and its bound. `outputs` are those of the kernel, for which the bound is meant."""
    exact = [values_of(array) for array in contract.expected_exactly(inputs)]
    bounds = _bounds_of_the_file(contract, inputs) if given is None else None
    tolerance = given or contract.tolerance
    if bounds is None and tolerance is None:
        return _usual(contract, inputs, own, exact, outputs)
    expected = []
    for i, (array, true) in enumerate(zip(own, exact, strict=True)):
        if bounds is not None:
            bound = np.broadcast_to(bounds[i], true.shape)
        else:
            assert tolerance is not None, "without bounds there is a tolerance"
            bound = tolerance.atol + tolerance.rtol * np.abs(np.where(np.isfinite(true), true, 0.0))
        expected.append(Expected(true, array, values_of(array), np.asarray(bound, np.float64)))
    return expected


def _usual(
    contract: Contract, inputs: Sequence[Any], own: list[Array], exact: list[np.ndarray], outputs: Sequence[Array]
) -> list[Expected]:
    """As near to float64 as the reference. Inputs are nudged where outputs are few, or where one is off by more."""
    few = any(_is_few(true) for true in exact)
    moved = _moved(contract, inputs, exact, narrow=True) if few else None
    expected = []
    for i, (array, true) in enumerate(zip(own, exact, strict=True)):
        floor = _UNLUCKY * float(np.max(moved[i], initial=0.0)) if moved is not None and _is_few(true) else 0.0
        bound = usual_bound(true, values_of(array), dtype_name(array), floor)
        expected.append(Expected(true, array, values_of(array), bound))
    if any(_exceeds(output, one) for output, one in zip(outputs, expected, strict=True)):
        sensitivity = _moved(contract, inputs, exact, narrow=False)
        for i, one in enumerate(expected):
            if not _is_few(one.exact):
                wider = usual_bound(one.exact, one.own_values, dtype_name(one.own), 0.0, _UNLUCKY * sensitivity[i])
                expected[i] = replace(one, bound=wider)
    return expected


def usual_bound(
    exact: np.ndarray, own: np.ndarray, dtype: str, floor: float = 0.0, sensitivity: np.ndarray | None = None
) -> np.ndarray:
    """So many times the reference's own error, and one unit of the last place; integers are exact."""
    if not is_floating(dtype):
        return np.zeros(exact.shape)
    unit = ulp(exact, dtype)
    with np.errstate(invalid="ignore"):
        error = np.where(np.isfinite(exact) & np.isfinite(own), np.abs(own - exact), 0.0)
    slack = NARROW_SLACK if bits_of(dtype) < 32 else SLACK
    largest = max(float(np.max(error, initial=0.0)), floor)
    in_units = float(np.max(error / unit, initial=0.0)) * unit
    if sensitivity is not None:
        in_units = np.maximum(in_units, sensitivity)
    allowed = np.minimum(largest, in_units) if not floor else np.full(exact.shape, largest)
    # What is smaller than the last place of the last place of the largest number has no digits that count: an
    # exponential of a large negative number, whose argument is rounded, has few right ones.
    largest_number = float(np.max(np.abs(np.where(np.isfinite(exact), exact, 0.0)), initial=0.0))
    negligible = largest_number * float(ulp(np.ones(1), dtype)[0]) ** 2
    return np.asarray(slack * allowed + unit + negligible + tiny(dtype))


def _is_few(exact: np.ndarray) -> bool:
    return 0 < exact.size < _FEW and exact.dtype.kind == "f"


def _exceeds(output: Array, expected: Expected) -> bool:
    """Whether an output of the right shape is off by more than the bound somewhere."""
    if tuple(output.shape) != expected.exact.shape or not is_floating(dtype_name(output)):
        return False
    with np.errstate(invalid="ignore"):
        return bool(np.any(np.abs(values_of(output) - expected.exact) > expected.bound))


def _bounds_of_the_file(contract: Contract, inputs: Sequence[Any]) -> list[Any] | None:
    if contract.error_bound is None:
        return None
    given = contract.error_bound(*inputs)
    several = given if isinstance(given, list | tuple) else [given]
    return [np.asarray(values_of(bound) if not np.isscalar(bound) else bound, np.float64) for bound in several]


def _moved(contract: Contract, inputs: Sequence[Any], exact: list[np.ndarray], narrow: bool) -> list[np.ndarray]:
    """How much rounding the inputs once moves each number of each output."""
    moved = [np.zeros(true.shape) for true in exact]
    for seed in range(_PERTURBATIONS):
        random = np.random.default_rng(seed)
        nudged = mapped(inputs, partial(_nudged, random=random, narrow=narrow))
        results = contract.run(contract.exact or contract.reference, nudged)
        for i, (result, true) in enumerate(zip(results, exact, strict=True)):
            if true.dtype.kind == "f":
                with np.errstate(invalid="ignore"):
                    change = np.abs(values_of(result) - true)
                moved[i] = np.maximum(moved[i], np.where(np.isfinite(change), change, 0.0))
    return moved


def _nudged(array: Array, random: np.random.Generator, narrow: bool) -> Array:
    """The array in double precision, each number off by at most half a unit: of its own type, or of float32 at most."""
    wide, name = to_float64(array), dtype_name(array)
    if not is_floating(name):
        return wide
    values = values_of(array)
    unit = ulp(values, name if narrow or bits_of(name) >= _SUMS else "float32")
    steps = random.uniform(-0.5, 0.5, values.shape) * unit
    return wide + torch().from_numpy(steps).to(wide.device) if is_tensor(wide) else wide + steps


Problem = tuple[Reason, str]
_AXES = {1: ("elements",), 2: ("rows", "columns")}


def problems_of(output: Array, expected: Expected, name: str) -> Iterator[Problem]:
    """What is wrong with an output; nothing if it is within its bound everywhere."""
    yield from _kind_problems(output, expected.own, name)
    shape, wanted = tuple(output.shape), tuple(expected.own.shape)
    if shape != wanted:
        yield "shape", f"{name} has the shape {shape}, the reference {wanted}"
        return
    values = values_of(output)
    strange = _strange(values, expected)
    if strange.any():
        index = _first(strange)
        reason: Reason = "unwritten" if _is_unwritten(output, index) else "nan"
        why = "memory that nobody wrote" if reason == "unwritten" else "NaN or infinity"
        yield (
            reason,
            (
                f"{name}{list(index)} is {values[index]}, expected {expected.exact[index]}: {why} in "
                f"{int(strange.sum())} of {strange.size} elements ({box(strange)})"
            ),
        )
        return
    wrong = _errors(values, expected) > expected.bound
    if wrong.any():
        index = _first(wrong)
        yield (
            "numbers",
            (
                f"{name}{list(index)} is {values[index]:.9g}, expected {expected.exact[index]:.9g} "
                f"± {expected.bound[index]:.2g}; {int(wrong.sum())} of {wrong.size} elements are wrong ({box(wrong)})"
            ),
        )


def numbers_of(output: Array, expected: Expected, position: int) -> Numbers:
    """The largest errors of an output of the right shape."""
    values, name = values_of(output), dtype_name(output)
    errors = _errors(values, expected)
    magnitude = np.abs(np.where(np.isfinite(expected.exact), expected.exact, 0.0)).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(errors == 0, 0.0, errors / magnitude)
        parts = np.where(errors == 0, 0.0, errors / expected.bound)
        units = errors / ulp(magnitude, name) if is_floating(name) else errors
    largest = [float(np.max(each, initial=0.0)) for each in (errors, relative, units, parts)]
    return Numbers(position, name, tuple(output.shape), *largest)


def box(wrong: np.ndarray) -> str:
    """Where they lie: "rows 64–127, every column"."""
    if wrong.ndim == 0:
        return "the only one"
    names = _AXES.get(wrong.ndim, tuple(f"mode {i}:" for i in range(wrong.ndim)))
    return ", ".join(_extent(wrong, axis, names[axis]) for axis in range(wrong.ndim))


def _extent(wrong: np.ndarray, axis: int, name: str) -> str:
    others = tuple(i for i in range(wrong.ndim) if i != axis)
    places = np.flatnonzero(wrong.any(axis=others))
    first, last = int(places[0]), int(places[-1])
    if len(places) == wrong.shape[axis]:
        return f"every {name[:-1]}" if name in ("elements", "rows", "columns") else f"{name} all"
    return f"{name} {first}–{last}" if last > first else f"{name.removesuffix('s')} {first}"


def _kind_problems(output: Array, own: Array, name: str) -> Iterator[Problem]:
    if dtype_name(output) != dtype_name(own):
        yield "dtype", f"{name} has elements of {dtype_name(output)}, the reference of {dtype_name(own)}"
    if device_name(output) != device_name(own):
        yield "device", f"{name} is on {device_name(output)}, the reference's on {device_name(own)}"


def _strange(values: np.ndarray, expected: Expected) -> np.ndarray:
    """Where NaN and infinities agree neither with float64 nor with the reference's own precision."""
    if values.dtype.kind not in "fc":
        return np.zeros(values.shape, bool)
    as_exact = _special(values) == _special(expected.exact)
    return np.asarray(~(as_exact | (_special(values) == _special(expected.own_values))))


def _special(values: np.ndarray) -> np.ndarray:
    """0 of finite numbers, 1 and -1 of infinities, 2 of NaN."""
    if values.dtype.kind not in "fc":
        return np.zeros(values.shape)
    return np.where(np.isnan(values), 2.0, np.where(np.isinf(values), np.sign(values.real), 0.0))


def _errors(values: np.ndarray, expected: Expected) -> np.ndarray:
    if values.dtype.kind == "b":
        return np.asarray(values != expected.exact, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(values.astype(np.float64) - np.asarray(expected.exact, np.float64))
    finite = np.isfinite(values) & np.isfinite(expected.exact)
    return np.asarray(np.where(finite, errors, 0.0))


def _first(wrong: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))


def _is_unwritten(output: Array, index: tuple[int, ...]) -> bool:
    """All bits of the element are set, as `guards.spoil_freed_memory` leaves memory; arithmetic gives other NaNs."""
    if not is_floating(dtype_name(output)) or is_tensor(output):
        plain = values_of(output)[index] if not is_tensor(output) else _tensor_bits(output, index)
        return plain == -1
    bits = np.ascontiguousarray(output[index]).tobytes()
    return bits == b"\xff" * len(bits)


def _tensor_bits(output: Array, index: tuple[int, ...]) -> int:
    element = output[index].detach().to("cpu").contiguous().reshape(1)
    sizes = {8: "int8", 16: "int16", 32: "int32", 64: "int64"}
    name = dtype_name(output)
    if not is_floating(name):
        return int(element.item())
    return int(element.view(getattr(torch(), sizes[bits_of(name)])).item())
