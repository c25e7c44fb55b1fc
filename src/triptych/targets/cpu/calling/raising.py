"""Exceptions of compiled code, made by Python functions with all that Python knows.

Compiled code calls one of them, raises what it gives (see `calling_python`) and returns a failing status.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

from triptych.diagnostics.check_errors import CHECK_ERRORS, unpack
from triptych.diagnostics.runtime_errors import ArgumentCountError, ArgumentRangeError, ArgumentTypeError
from triptych.interop.dlpack import DLTensor
from triptych.ir.modules import read_leaves
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import caller
from triptych.targets.cpu.abi.abi import (
    BIG_INT_TAG,
    BOOL_TAG,
    FAIL,
    FLOAT_TAG,
    INT_TAG,
    REFUSE,
    REFUSE_COUNT,
    REFUSE_TENSORS,
    TENSOR_HEADER,
    TENSOR_TAG,
    VIEW_TAG,
)
from triptych.targets.cpu.calling.scalars import SCALARS, BoundaryScalar
from triptych.targets.cpu.calling.tensor_errors import tensor_error

_TAG_NAMES = {
    0: "None",
    1: "an int",
    2: "a bool",
    3: "a float",
    5: "a dtype",
    6: "a device",
    7: "a tensor",
    11: "a str",
    12: "bytes",
    65: "a str",
    66: "bytes",
    68: "a function",
    70: "a tensor",
    71: "a tuple or list",
    72: "a dict",
}
"""What the tags of the call path are in Python; any other object is just an object."""


_PYTHON_TYPES = {"boolean": "bool", "signed": "int", "unsigned": "int", "float": "float"}


class _Any(ctypes.Structure):
    """A packed value."""

    _fields_ = [("tag", ctypes.c_int32), ("padding", ctypes.c_int32), ("payload", ctypes.c_int64)]


def _refuse(value: int, dtype: bytes, path: bytes) -> BaseException:
    packed = _Any.from_address(value)
    return _argument_error(packed.tag, packed.payload, SCALARS[dtype.decode()], path.decode())


def _refuse_tensors(values: int, parameters: bytes) -> BaseException:
    leaves = read_leaves(parameters.decode())
    packed = (_Any * len(leaves)).from_address(values)
    tensors = {leaf.path: _tensor(value) for leaf, value in zip(leaves, packed, strict=True)}
    return tensor_error(leaves, tensors, caller()) or RuntimeError("tensors that fit were refused")


def _tensor(packed: _Any) -> DLTensor | str:
    if packed.tag not in (VIEW_TAG, TENSOR_TAG):
        return _TAG_NAMES.get(packed.tag, "an object without `__dlpack__`")
    return DLTensor.from_address(packed.payload + (TENSOR_HEADER if packed.tag == TENSOR_TAG else 0))


def _refuse_count(given: int, wanted: int, name: bytes) -> BaseException:
    plural = "" if wanted == 1 else "s"
    verb = "was" if given == 1 else "were"
    return ArgumentCountError(
        f"{name.decode()}() takes {wanted} argument{plural} but {given} {verb} given",
        span=caller(),
        found=str(given),
        expected=str(wanted),
        instead="the run-time arguments only: Constexpr ones are part of what was compiled"
        if given > wanted
        else "every run-time argument, defaults too: what was compiled has none",
    )


def check_error(name: bytes, message: bytes, notes: Sequence[str] = ()) -> TriptychError:
    """The error of a failed check, by the name of its class and the text that its program was compiled with."""
    error = CHECK_ERRORS[name.decode()](**unpack(message.decode()))
    error.notes += notes
    return error


RAISING = {REFUSE: _refuse, REFUSE_TENSORS: _refuse_tensors, REFUSE_COUNT: _refuse_count, FAIL: check_error}
"""By the symbols that compiled code imports."""


def _argument_error(tag: int, payload: int, scalar: BoundaryScalar, path: str) -> TriptychError:
    if scalar.kind == "float" and tag in (INT_TAG, BOOL_TAG, FLOAT_TAG):
        found = repr(struct.unpack("<d", struct.pack("<q", payload))[0]) if tag == FLOAT_TAG else str(payload)
        return ArgumentRangeError(
            f"argument {path!r} does not fit in {scalar.name}",
            span=caller(),
            found=found,
            expected=f"a number within {scalar.name}",
            instead="a parameter of a wider type, for example Float64",
        )
    if tag == BIG_INT_TAG or (tag in (INT_TAG, BOOL_TAG) and scalar.kind != "boolean"):
        found = "an int beyond 64 bits" if tag == BIG_INT_TAG else str(payload)
        return _range_error(found, scalar, path)
    found = _TAG_NAMES.get(tag, "an object that is not a number")
    return ArgumentTypeError(
        f"argument {path!r} must be {_accepted(scalar)}, not {found}",
        span=caller(),
        found=found,
        expected=f"{_accepted(scalar)} for {scalar.name}",
        instead=f"`{_PYTHON_TYPES[scalar.kind]}({path})`, or another annotation of the parameter",
    )


def _range_error(found: str, scalar: BoundaryScalar, path: str) -> ArgumentRangeError:
    if scalar.kind == "float":
        return ArgumentRangeError(
            f"argument {path!r} is too large an int to become {scalar.name} by itself",
            span=caller(),
            found=found,
            expected="a float, or an int of at most 64 bits",
            instead=f"float({path})",
        )
    return ArgumentRangeError(
        f"argument {path!r} does not fit in {scalar.name}",
        span=caller(),
        found=found,
        expected=f"an int from {scalar.low} to {scalar.high}",
        instead=f"a parameter of a wider type, as `{path}: Int64`",
    )


def _accepted(scalar: BoundaryScalar) -> str:
    return {"boolean": "a bool", "signed": "an int", "unsigned": "an int", "float": "a float or an int"}[scalar.kind]
