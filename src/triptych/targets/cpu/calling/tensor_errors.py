"""Tensor mismatch errors: compiled code has found that tensors do not fit, Python finds out what to say.

Input: the packed values of a call and the parameters. Output: the error for the first tensor that is not as compiled.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from triptych.diagnostics.runtime_errors import ArgumentTypeError
from triptych.diagnostics.tensor_errors import ArgumentTensorError, ArgumentTensorTypeError
from triptych.interop.dlpack import CPU, DLTensor, device_text, element_of, element_text
from triptych.interop.torch_tracers import CUSTOM_OP
from triptych.stages import Leaf, Memory
from triptych.support.errors import TriptychError
from triptych.support.source import Span

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
        return _error(leaf, what, span, f"{kind} {found}", f"{kind} ({expected}){reason}", instead)
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
