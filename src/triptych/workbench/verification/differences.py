"""One output against what it should be: shape, type, NaN, numbers, and where the wrong ones lie."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from triptych.workbench.arrays import (
    Array,
    bits_of,
    device_name,
    dtype_name,
    is_floating,
    is_tensor,
    torch,
    ulp,
    values_of,
)
from triptych.workbench.verification.bounds import Expected
from triptych.workbench.verification.findings import Numbers, Reason

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
