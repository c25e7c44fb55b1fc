"""Tensor factories: over a pointer, in registers, like another one, or of coordinates."""

from __future__ import annotations

from typing import Any

from triptych.cute.dynamic.traced_integers import ints, realize
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.addresses import Allocation, checks_bounds, permuted
from triptych.cute.memory.element_storage import storage_of
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tensors.program_integers import IntTuple
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.errors import PointerError, StaticTensorError
from triptych.kernel_ir.analysis.uninitialized_registers import REGISTERS_ATTRIBUTE
from triptych.layout import (
    AnyLayout,
    ComposedLayout,
    Int,
    Layout,
    Swizzle,
    SymInt,
    cosize,
    make_identity_layout,
    make_layout,
    make_layout_like,
    recast_layout,
    size,
    transform_leaf,
)
from triptych.layout.coordinates import has_basis
from triptych.layout.tuples import leaves
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Int64, Numeric, numeric_class
from triptych.sanitizer.checkers import INIT, checkers

_REGISTER_ALIGNMENT = 16


def make_tensor(iterator: Pointer | IntTuple | Tensor, layout: AnyLayout | IntTuple) -> Tensor:
    """The tensor iterator o layout; a shape stands for its compact layout."""
    if isinstance(iterator, Tensor):
        iterator = iterator.iterator
    over = layout if isinstance(layout, Layout | ComposedLayout) else make_layout(ints(layout))
    if not isinstance(iterator, Pointer):
        return Tensor(ints(iterator), over)
    if not isinstance(over, ComposedLayout) and has_basis(over.stride):
        raise PointerError(
            "a layout into coordinates cannot index memory",
            span=place(),
            found=f"the layout {over} over {iterator}",
            expected="strides that count elements",
            instead="`make_tensor` of a coordinate, or `make_identity_tensor(shape)`",
        )
    if isinstance(over, ComposedLayout):
        over.known_inner  # noqa: B018 - refuses a function, whose values are no integers of the algebra
        iterator = _begin_of_pattern(iterator, over)
    if checks_bounds() and iterator.allocation is None and iterator.memspace is not AddressSpace.tmem:
        # Who lays a tensor over a bare pointer says how much memory there is; an allocation of columns says it itself.
        iterator = iterator.inside(_memory(iterator, over))
    return Tensor(iterator, over)


def _begin_of_pattern(pointer: Pointer, layout: ComposedLayout) -> Pointer:
    """Where the pattern of a swizzled layout begins, if a pointer is to the first element of a part of it.

    A part of a swizzled tensor is in the tensor's memory, and its layout counts from there. A program that lays this
    layout over an address that it has computed means the address of the part's own first element.
    """
    offset = layout.offset
    if pointer.origin is not None or not isinstance(layout.inner, Swizzle) or not isinstance(offset, SymInt):
        return pointer
    return pointer.advanced(-permuted(layout.inner, offset))


def make_rmem_tensor(layout_or_shape: AnyLayout | IntTuple, dtype: type[Numeric]) -> Tensor:
    """A tensor in the registers of a thread; its elements are undefined until they are written."""
    given = layout_or_shape
    layout = given if isinstance(given, Layout | ComposedLayout) else make_layout(ints(given))
    kind = numeric_class(dtype)
    extent = _extent(layout, kind)
    if not isinstance(extent, int):
        raise StaticTensorError(
            "a tensor in registers needs a layout that is known while tracing",
            span=place(),
            found=f"the layout {layout}",
            expected="static extents and strides",
            instead="a Constexpr argument, or a tile of a static shape",
        )
    return make_tensor(_allocate(kind, extent, f"a tensor {layout} of {kind.__name__}"), layout)


def make_fragment_like(src: AnyLayout | Tensor, dtype: type[Numeric] | None = None) -> Any:
    """Registers for the elements of a partition: the first mode (the values of an instruction) is compact and
    fastest, the others follow in the order of their strides. Of a layout without a type, the layout."""
    layout = _fragment_layout(src.layout if isinstance(src, Tensor) else src)
    kind = dtype or (src.element_type if isinstance(src, Tensor) else None)
    return layout if kind is None else make_rmem_tensor(layout, kind)


def make_rmem_tensor_like(src: AnyLayout | Tensor, dtype: type[Numeric] | None = None) -> Tensor:
    """Registers for the elements of a tensor, compact, in the order of its strides."""
    kind = dtype or (src.element_type if isinstance(src, Tensor) else None)
    if kind is None:
        raise StaticTensorError("registers like a layout need an element type", span=place(), instead="dtype=Float32")
    return make_rmem_tensor(make_layout_like(src.layout if isinstance(src, Tensor) else src), kind)


def make_identity_tensor(shape: IntTuple) -> Tensor:
    """The tensor whose element at a coordinate is the coordinate."""
    extents = ints(shape)
    return Tensor(transform_leaf(lambda _: 0, extents), make_identity_layout(extents))


def recast_tensor(src: Tensor, dst_type: type[Numeric], swizzle_: Swizzle | None = None) -> Tensor:
    """The same memory as elements of another size."""
    kind, pointer = numeric_class(dst_type), src.pointer
    layout: AnyLayout = recast_layout(_bits(kind), _bits(pointer.dtype), src.layout)
    return Tensor(pointer.recast(kind, swizzle_), layout)


def _bits(dtype: type[Numeric]) -> int:
    storage = storage_of(dtype)
    return storage.group_bytes * 8 // storage.group


def _fragment_layout(layout: AnyLayout) -> Layout:
    source = layout.outer if isinstance(layout, ComposedLayout) else layout
    if not isinstance(source.shape, tuple) or len(source.shape) < 2 or not isinstance(source.stride, tuple):
        return make_layout(source.shape)
    first = make_layout_like(Layout(source.shape[0], _ascending(source.stride[0])))
    rest = make_layout_like(Layout(source.shape[1:], source.stride[1:]))
    taken = cosize(first)
    scaled = transform_leaf(lambda step: step * taken, rest.stride)
    return Layout(source.shape, (first.stride, *scaled))


def _ascending(stride: object) -> Any:
    """Strides that only say left to right, and which modes repeat."""
    return transform_leaf(lambda step: 0 if isinstance(step, int) and step == 0 else 1, stride)


def _memory(pointer: Pointer, layout: AnyLayout) -> Allocation:
    """The memory that a layout over a pointer reaches: none if it has no elements, some before it by negative steps."""
    outer = layout.outer if isinstance(layout, ComposedLayout) else layout
    modes = zip(leaves(outer.shape), leaves(outer.stride), strict=True)
    before = sum((1 - extent) * step for extent, step in modes if isinstance(step, int) and step < 0)
    start = pointer.advanced(-before).byte_address()
    count, reach = realize(size(layout)), _extent(layout, pointer.dtype)
    if isinstance(count, int):
        return Allocation(start, reach if count else 0)
    return Allocation(start, (count != 0).to(Int64) * reach)


def _extent(layout: AnyLayout, dtype: type[Numeric]) -> Int64 | int:
    """The bytes that a layout reaches; a swizzle moves elements inside blocks, which count whole."""
    in_bytes: Int = (_reach(layout) * _bits(dtype) + 7) // 8
    extent = realize(in_bytes)
    return extent if isinstance(extent, int) else extent.to(Int64)


def _reach(layout: AnyLayout) -> Int:
    if not isinstance(layout, ComposedLayout):
        return cosize(layout)
    inner = layout.known_inner
    if isinstance(inner, Layout):
        return cosize(inner)
    block = 1 << (inner.bits + inner.base + abs(inner.shift))
    assert not isinstance(layout.offset, tuple), "the offset before a swizzle is one number"
    reach: Int = (layout.offset + cosize(layout) + block - 1) // block * block
    return reach


def _allocate(dtype: type[Numeric], extent: int, what: str) -> Pointer:
    """A stack slot at the start of the function: one made in a loop would grow the stack on every iteration."""
    trace, storage = tracing(), storage_of(dtype)
    builder, insertion = trace.builder, trace.builder.insertion
    builder.insertion = builder.at_start(trace.entry)
    try:
        units = max(1, extent if storage.is_packed else extent // storage.group_bytes)
        count = trace.value("llvm.mlir.constant", (), "i32", {"value": builder.integer("i32", units)})
        attributes = {
            "elem_type": builder.type_attribute(storage.unit),
            "alignment": builder.integer("i64", _REGISTER_ALIGNMENT),
        }
        if INIT in checkers():
            attributes[REGISTERS_ATTRIBUTE] = builder.string(what)
        slot = trace.value("llvm.alloca", (count,), AddressSpace.rmem.pointer_type, attributes)
    finally:
        builder.insertion = insertion
    return Pointer(slot, dtype, AddressSpace.rmem, _REGISTER_ALIGNMENT)
