"""Python functions through which compiled code raises, and how their exceptions come out of the call path.

Compiled code calls one of them and returns a failing status. The function makes the exception with all that Python
knows, keeps it for this thread, and records a stand-in for the call path, which asks for the exception by its kind.
The stand-in carries no native backtrace: collecting one takes 1.1 s for the first error of a process.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from triptych.ir import bindings
from triptych.ir.signature import read_leaves
from triptych.support.check_facts import unpack
from triptych.support.dlpack import DLTensor
from triptych.support.errors import TriptychError
from triptych.support.runtime_errors import CHECK_ERRORS, ArgumentCountError, ArgumentRangeError, ArgumentTypeError
from triptych.support.tracebacks import caller
from triptych.targets.cpu.ffi_layout import (
    BIG_INT_TAG,
    BOOL_TAG,
    FAIL,
    INT_TAG,
    REFUSE,
    REFUSE_COUNT,
    REFUSE_TENSORS,
    STOPPING,
    TAKE_ERROR,
    TENSOR_HEADER,
    TENSOR_TAG,
    VIEW_TAG,
)
from triptych.targets.cpu.scalars import SCALARS, Scalar
from triptych.targets.cpu.tensor_refusals import tensor_error

_KIND = "triptych.CompiledCodeError"
_PENDING = threading.local()

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


class _Bytes(ctypes.Structure):
    """Text as the call path takes it."""

    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


def _refuse(value: int, dtype: bytes, path: bytes) -> None:
    packed = _Any.from_address(value)
    record(_argument_error(packed.tag, packed.payload, SCALARS[dtype.decode()], path.decode()))


def _refuse_tensors(values: int, parameters: bytes) -> None:
    leaves = read_leaves(parameters.decode())
    packed = (_Any * len(leaves)).from_address(values)
    tensors = {leaf.path: _tensor(value) for leaf, value in zip(leaves, packed, strict=True)}
    record(tensor_error(leaves, tensors, caller()) or RuntimeError("tensors that fit were refused"))


def _tensor(packed: _Any) -> DLTensor | str:
    if packed.tag not in (VIEW_TAG, TENSOR_TAG):
        return _TAG_NAMES.get(packed.tag, "an object without `__dlpack__`")
    return DLTensor.from_address(packed.payload + (TENSOR_HEADER if packed.tag == TENSOR_TAG else 0))


def _refuse_count(given: int, wanted: int, name: bytes) -> None:
    plural = "" if wanted == 1 else "s"
    verb = "was" if given == 1 else "were"
    record(
        ArgumentCountError(
            f"{name.decode()}() takes {wanted} argument{plural} but {given} {verb} given",
            span=caller(),
            found=str(given),
            expected=str(wanted),
            instead="the run-time arguments only: Constexpr ones are part of what was compiled",
        )
    )


def _fail(name: bytes, message: bytes) -> None:
    if name.decode() != STOPPING:
        record(check_error(name, message))


def check_error(name: bytes, message: bytes, notes: Sequence[str] = ()) -> TriptychError:
    """The error of a failed check, by the name of its class and the text that its program was compiled with."""
    error = CHECK_ERRORS[name.decode()](**unpack(message.decode()))
    error.notes += notes
    return error


def _take_error() -> BaseException:
    error: BaseException = _PENDING.__dict__.pop("error", None) or RuntimeError("compiled code failed")
    return error


_FUNCTIONS = {
    TAKE_ERROR: ctypes.CFUNCTYPE(ctypes.py_object)(_take_error),
    REFUSE: ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)(_refuse),
    REFUSE_TENSORS: ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(_refuse_tensors),
    REFUSE_COUNT: ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_int32, ctypes.c_char_p)(_refuse_count),
    FAIL: ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)(_fail),
}
"""They live as long as this module, and take the interpreter lock by themselves."""


def raising_addresses() -> dict[str, int]:
    """The functions by the symbols that compiled code imports."""
    return {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in _FUNCTIONS.items()}


@cache
def register_errors() -> None:
    """Tell the call path what to call for our kind of error. It insists on a class; this one gives what is pending."""
    stand_in = type("CompiledCodeError", (), {"__new__": lambda _, message: _take_error()})
    bindings.tvm_ffi().register_error(_KIND, stand_in)


def record(error: BaseException) -> None:
    """Keep the exception that the compiled call of this thread is about to raise."""
    _PENDING.error = error
    if "tvm_ffi" not in sys.modules:
        return
    call_path = _call_path()
    texts = [_Bytes(text, len(text)) for text in (_KIND.encode(), str(error).encode(), b"")]
    handle = ctypes.c_void_p()
    call_path.TVMFFIErrorCreate(*(ctypes.byref(text) for text in texts), ctypes.byref(handle))
    call_path.TVMFFIErrorSetRaised(handle)
    call_path.TVMFFIObjectDecRef(handle)


@cache
def _call_path() -> Any:
    return ctypes.PyDLL(bindings.tvm_ffi().libinfo.find_libtvm_ffi())


def _argument_error(tag: int, payload: int, scalar: Scalar, path: str) -> TriptychError:
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


def _range_error(found: str, scalar: Scalar, path: str) -> ArgumentRangeError:
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


def _accepted(scalar: Scalar) -> str:
    return {"boolean": "a bool", "signed": "an int", "unsigned": "an int", "float": "a float or an int"}[scalar.kind]
