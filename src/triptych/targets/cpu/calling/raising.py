"""Exceptions of compiled code, made by Python functions with all that Python knows.

Compiled code calls one of them, raises what it gives (see `calling_python`) and returns a failing status.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from triptych.diagnostics.check_errors import CHECK_ERRORS, unpack
from triptych.diagnostics.runtime_errors import ArgumentCountError, ArgumentRangeError, ArgumentTypeError
from triptych.diagnostics.tensor_errors import ArgumentTensorError, ArgumentTensorTypeError
from triptych.interop.dlpack import CPU, DLTensor, device_text, element_of, element_text
from triptych.interop.torch_tracers import CUSTOM_OP
from triptych.ir.modules import read_leaves
from triptych.stages import Leaf, Memory
from triptych.support.errors import TriptychError
from triptych.support.source import Span
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

# Tensor mismatch errors: compiled code has found that tensors do not fit, Python finds out what to say.
#
# Input: the packed values of a call and the parameters. Output: the error for the first tensor that is not as compiled.

_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "min": min,
    "&": lambda a, b: a & b,
    "^": lambda a, b: a ^ b,
}


def tensor_error(
    leaves: Sequence[Leaf], tensors: Mapping[str, DLTensor | str], span: Span | None
) -> TriptychError | None:
    """What is wrong with the tensors, given by path (a text says what stands there instead of one)."""
    known: dict[str, int] = {}
    origins = dict(_origins(leaves))
    for leaf in leaves:
        if leaf.memory is not None:
            error = _alone(leaf, leaf.memory, tensors[leaf.path], known, span)
            if error is not None:
                return error
    for leaf in leaves:
        tensor = tensors[leaf.path] if leaf.memory is not None else None
        if leaf.memory is not None and isinstance(tensor, DLTensor):
            error = _together(leaf, leaf.memory, tensor, known, origins, span)
            if error is not None:
                return error
    return None


def _alone(
    leaf: Leaf, memory: Memory, tensor: DLTensor | str, known: dict[str, int], span: Span | None
) -> TriptychError | None:
    """What concerns one tensor; its unknowns become known."""
    if isinstance(tensor, str):
        return ArgumentTypeError(
            f"argument {leaf.path!r} must be a tensor, not {tensor}",
            span=span,
            found=tensor,
            expected=f"a tensor of {leaf.dtype}: a NumPy array, a torch tensor, or another object with `__dlpack__`",
            instead=f"`np.asarray({leaf.path})`, or a compilation of its own for other arguments",
        )
    rank = len(memory.shape)
    if element_of(tensor) != leaf.dtype or tensor.rank != rank:
        return ArgumentTensorTypeError(
            f"argument {leaf.path!r} is another kind of tensor than the function was compiled for",
            span=span,
            found=f"{_modes(tensor.rank)} of {element_text(tensor)}",
            expected=f"{_modes(rank)} of {leaf.dtype}",
            instead=f"`{_converted(leaf, tensor, rank)}`, or a call of the `@jit` function, "
            "which compiles for every kind",
        )
    if tensor.device not in memory.devices:
        return _misplaced(leaf, memory, tensor, span)
    address = (tensor.data or 0) + int(tensor.offset)
    extents = tensor.shape[:rank] if rank else []
    if not address and 0 not in extents:
        instead = "an allocated array" + (f"; while torch traces, {CUSTOM_OP}" if "torch" in sys.modules else "")
        return _error(leaf, "has no memory", span, "a null address", "the address of its elements", instead)
    if address % memory.alignment:
        found = f"the address {address:#x}, a multiple of {address & -address}"
        instead = f"`{leaf.path}.copy()`: a new array begins at an aligned address"
        return _error(leaf, "is not aligned", span, found, f"a multiple of {memory.alignment} bytes", instead)
    if rank and not tensor.stride:
        found, expected = "a description without them", "the stride of each mode"
        return _error(leaf, "has no strides", span, found, expected, "an array with strides")
    unknowns = {unknown.name: unknown for unknown in memory.unknowns}
    for name, text, value, idle in _integers(memory, tensor):
        unknown = unknowns.pop(text, None)
        if unknown is None:
            continue
        largest = (1 << (unknown.width - 1)) - 1
        good = 0 <= value <= largest and value % unknown.divisor == 0
        if not good and not idle:
            multiple = f"a multiple of {unknown.divisor} " if unknown.divisor > 1 else ""
            instead = f"`{leaf.path}.copy()`, whose strides are positive" if value < 0 else "an array that fits"
            return _error(leaf, f"has an unfit {name}", span, str(value), f"{multiple}from 0 to {largest}", instead)
        known[unknown.name] = value if good else 0
    return None


def _misplaced(leaf: Leaf, memory: Memory, tensor: DLTensor, span: Span | None) -> TriptychError:
    if CPU in memory.devices:
        what, instead = "is not in memory of this machine's CPU", f"`{leaf.path}.cpu()`, or `target='nvptx'`"
        return _error(leaf, what, span, device_text(tensor), "the CPU", instead)
    instead = f"`{leaf.path}.cuda()`, or another way to copy it there"
    return _error(leaf, "is not in memory of a GPU", span, device_text(tensor), "a CUDA GPU", instead)


def _together(
    leaf: Leaf,
    memory: Memory,
    tensor: DLTensor,
    known: Mapping[str, int],
    origins: Mapping[str, str],
    span: Span | None,
) -> TriptychError | None:
    """Integers that are fixed, or that others decide."""
    for name, text, value, idle in _integers(memory, tensor):
        wanted = _evaluated(text, known)
        if value == wanted or idle:
            continue
        kind = name.partition("[")[0]
        found = tuple(getattr(tensor, kind)[: tensor.rank])
        reason = "" if text.lstrip("-").isdigit() else f", because {leaf.path}.{name} is {_readable(text, origins)}"
        expected = ", ".join(str(_evaluated(part, known)) for part in getattr(memory, kind))
        expected += "," if tensor.rank == 1 else ""
        what = f"has another {kind} than the function was compiled for"
        instead = "a call of the `@jit` function, which compiles for every layout, or `mark_layout_dynamic()`"
        mismatched = f"Mismatched {leaf.path}.{name}: {kind} {found}"  # TVM FFI's word, which programs look for
        return _error(leaf, what, span, mismatched, f"{kind} ({expected}){reason}", instead)
    return None


def _integers(memory: Memory, tensor: DLTensor) -> Iterator[tuple[str, str, int, bool]]:
    """Each extent and stride: its name, what it should be, what it is, and whether it does not matter."""
    rank = len(memory.shape)
    extents = tensor.shape[:rank] if rank else []
    strides = tensor.stride[:rank] if rank else []
    for i in range(rank):
        yield f"shape[{i}]", memory.shape[i], extents[i], False
    for i in range(rank):
        yield f"stride[{i}]", memory.stride[i], strides[i], extents[i] <= 1 or 0 in extents


def _origins(leaves: Sequence[Leaf]) -> Iterator[tuple[str, str]]:
    """Where each unknown is read: names that the user has not chosen say nothing."""
    for leaf in leaves:
        if leaf.memory is not None:
            unknowns = {unknown.name for unknown in leaf.memory.unknowns}
            for kind, texts in (("shape", leaf.memory.shape), ("stride", leaf.memory.stride)):
                for i, text in enumerate(texts):
                    if text in unknowns:
                        unknowns.remove(text)
                        yield text, f"{leaf.path}.{kind}[{i}]"


def _evaluated(text: str, known: Mapping[str, int]) -> int:
    stack: list[int] = []
    for word in text.split():
        if word in _OPERATIONS:
            right, left = stack.pop(), stack.pop()
            stack.append(_OPERATIONS[word](left, right))
        else:
            stack.append(known[word] if word in known else int(word))
    return stack[0]


def _readable(text: str, origins: Mapping[str, str]) -> str:
    """Postfix notation as a person writes it."""
    stack: list[str] = []
    for word in text.split():
        if word in _OPERATIONS:
            right, left = stack.pop(), stack.pop()
            stack.append(f"min({left}, {right})" if word == "min" else f"({left} {word} {right})")
        else:
            stack.append(origins.get(word, word))
    whole = stack[0]
    return whole[1:-1] if whole.startswith("(") else whole


def _converted(leaf: Leaf, tensor: DLTensor, rank: int) -> str:
    """The tensor with what is different about it made like what was compiled for."""
    typed = f"{leaf.path}.astype(...)" if element_of(tensor) != leaf.dtype else leaf.path
    return typed if tensor.rank == rank else f"{typed}.reshape(...)"


def _modes(rank: int) -> str:
    return f"{rank} mode{'' if rank == 1 else 's'}"


def _error(leaf: Leaf, what: str, span: Span | None, found: str, expected: str, instead: str) -> ArgumentTensorError:
    title = f"argument {leaf.path!r} {what}"
    return ArgumentTensorError(title, span=span, found=found, expected=expected, instead=instead)


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
