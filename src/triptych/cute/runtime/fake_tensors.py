"""Fake tensors and streams: a function is compiled for their kind and called with real ones.

An unknown made with `sym_int` is one number wherever it stands: the compiled function checks that all tensors agree.
Arguments may be text, `Float32[n, 64]` or `Float32[:, ::1]`: on the command line, in manifests, and in what a process
says that may not compile.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NoReturn

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.runtime import markings
from triptych.cute.runtime.tensor_kinds import (
    DescribedTensor,
    TensorKind,
    implicit_kind,
    natural_alignment,
    tensor_kind,
)
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import FakeTensorError
from triptych.interop.dlpack import ELEMENT_CODES
from triptych.layout import Int, Layout, SymInt, unknowns
from triptych.layout.tuples import Modes
from triptych.metastage.arguments.streams import STREAM, StreamKind
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Numeric, numeric_class
from triptych.support.source_texts import parse_expression


def sym_int(width: int = 32, divisibility: int = 1, *, symbol: str | None = None) -> SymInt:
    """An unknown extent or stride, a multiple of `divisibility`; each call makes another one (or the one named)."""
    return unknowns.sym_int(width, divisibility, symbol=symbol, lower=0)


def sym_int32(divisibility: int = 1, *, symbol: str | None = None) -> SymInt:
    """An unknown of 32 bits."""
    return sym_int(32, divisibility, symbol=symbol)


def sym_int64(divisibility: int = 1, *, symbol: str | None = None) -> SymInt:
    """An unknown of 64 bits."""
    return sym_int(64, divisibility, symbol=symbol)


class FakeTensor(DescribedTensor):
    """A tensor without memory."""

    __slots__ = ("__argument_kind__",)

    def __init__(self, kind: TensorKind) -> None:
        self.__argument_kind__ = kind

    def __reduce__(self) -> tuple[Any, ...]:
        """By its own class, which `__class__` does not say."""
        return FakeTensor, (self.__argument_kind__,)

    @property
    def shape(self) -> Modes:
        """The extents; those that a call will tell are symbols."""
        return self.layout.shape

    @property
    def stride(self) -> Modes:
        """The strides in elements; those that a call will tell are symbols."""
        return self.layout.stride

    def __str__(self) -> str:
        return f"FakeTensor<{self.element_type.__name__}@{self.memspace.name} o {self.layout}>"

    __repr__ = __str__

    @eager
    def _no_elements(self, *_: object, **__: object) -> NoReturn:
        """Refused: there is no memory behind it."""
        raise FakeTensorError(
            "a fake tensor has no elements",
            found=str(self),
            expected="a real tensor where a compiled function runs",
            instead="compile(function, fake) and call what it gives with real tensors",
        )

    __getitem__ = __setitem__ = load = store = fill = __dlpack__ = _no_elements


@eager
def make_fake_tensor(
    dtype: type[Numeric],
    shape: Sequence[Int],
    stride: Sequence[Int],
    *,
    memspace: AddressSpace = AddressSpace.gmem,
    assumed_align: int | None = None,
) -> FakeTensor:
    """A stand-in for tensors of that shape and stride; `assumed_align` in bytes, by default that of an element."""
    element = numeric_class(dtype).__name__
    if element not in ELEMENT_CODES or not _is_flat(shape) or not _is_flat(stride) or len(shape) != len(stride):
        raise FakeTensorError(
            "no tensor from outside can be like this",
            found=f"elements of {element}, shape {shape}, stride {stride}",
            expected=f"one stride for each extent, and one of {', '.join(ELEMENT_CODES)}",
        )
    alignment = natural_alignment(element) if assumed_align is None else assumed_align
    if alignment < 1 or alignment & (alignment - 1):
        raise FakeTensorError(
            "an alignment is a power of two", found=f"assumed_align={alignment}", expected="1, 2, 4 …"
        )
    return FakeTensor(tensor_kind(element, Layout(tuple(shape), tuple(stride)), alignment, memspace))


@eager
def make_fake_compact_tensor(
    dtype: type[Numeric],
    shape: Sequence[Int],
    *,
    stride_order: Sequence[int] | None = None,
    memspace: AddressSpace = AddressSpace.gmem,
    assumed_align: int | None = None,
    use_32bit_stride: bool = False,
) -> FakeTensor:
    """A stand-in for compact tensors. `stride_order` gives each mode's place, 0 for the innermost: by default the
    first mode is, so row-major tensors have `stride_order=(1, 0)`.

    The strides are products of the extents, so `use_32bit_stride` changes nothing.
    """
    rank = len(shape)
    places = markings.checked_order(range(rank) if stride_order is None else stride_order, rank)
    inner_first = sorted(range(rank), key=lambda mode: places[mode])
    strides: dict[int, Int] = {}
    step: Int = 1
    for mode in inner_first:
        strides[mode] = step
        step = step * shape[mode]
    ordered = [strides[mode] for mode in range(rank)]
    return make_fake_tensor(dtype, shape, ordered, memspace=memspace, assumed_align=assumed_align)


def _is_flat(values: Sequence[Int]) -> bool:
    return all(isinstance(value, int | SymInt) for value in values)


class FakeStream:
    """What stands for every stream while a function is compiled."""

    __slots__ = ()

    @property
    def __argument_kind__(self) -> StreamKind:
        return STREAM

    def __repr__(self) -> str:
        return "FakeStream()"


def make_fake_stream(*, use_tvm_ffi_env_stream: bool = False) -> FakeStream | None:
    """A stand-in for a stream argument.

    With `use_tvm_ffi_env_stream` it is None: calls then need not give the argument, and launches go to the stream that
    PyTorch has made current.
    """
    return None if use_tvm_ffi_env_stream else FakeStream()


_ALIGNMENT = 16


@eager
def example(text: str) -> Any:
    """A stand-in for arguments of a kind, to compile for.

    `"Float32[:, ::1]"` is any matrix of that type that is passed as it is (NumPy, PyTorch) and whose rows are without
    gaps; `"Float32[:, :]"` one of any strides. `"Float32[n, 64]"` is a compact row-major one with 64 columns, aligned
    to 16 bytes. Literals are themselves.
    """
    try:
        return argument(parse_expression(text), {})
    except (SyntaxError, ValueError):
        raise FakeTensorError(
            "this is no argument",
            found=repr(text),
            expected="a literal, or a kind of tensors",
            instead='"Float32[:, ::1]", "Float32[n, 64]"',
        ) from None


def argument(node: ast.expr, extents: dict[str, Any]) -> Any:
    """What a parsed text stands for; `extents` are the names of unknown extents, which several arguments share."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return ast.literal_eval(node)
    dtype = NUMERIC_CLASSES.get(node.value.id)
    if dtype is None:
        raise ValueError(node.value.id)
    modes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(mode, ast.Slice) for mode in modes):
        return _passed_as_it_is(node.value.id, modes)
    shape = [_extent(mode, extents) for mode in modes]
    return make_fake_compact_tensor(dtype, shape, stride_order=range(len(shape) - 1, -1, -1), assumed_align=_ALIGNMENT)


def _passed_as_it_is(element: str, modes: list[ast.expr]) -> FakeTensor:
    """Every extent and stride is known at the call only, but for one stride of 1: `::1`."""
    steps = [ast.unparse(mode) for mode in modes]
    ones = [i for i, step in enumerate(steps) if step == "::1"]
    if element not in ELEMENT_CODES or len(ones) > 1 or not {*steps} <= {":", "::1"}:
        raise ValueError(element)
    return FakeTensor(implicit_kind(element, len(modes), ones[0] if ones else None))


def _extent(node: ast.expr, extents: dict[str, Any]) -> Any:
    """The same name is the same unknown."""
    if isinstance(node, ast.Name):
        return extents.setdefault(node.id, sym_int(symbol=node.id))
    extent = ast.literal_eval(node)
    if type(extent) is not int:
        raise ValueError(extent)
    return extent
