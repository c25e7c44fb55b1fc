"""Tensors: an iterator composed with a layout, so that a coordinate names an element of memory.

Input: pointers (or coordinates) and layouts. Output: views, which cost nothing, and loads and stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from triptych.cute.dynamic.layout_values import anonymous, rebuilt, unknowns
from triptych.cute.dynamic.traced_integers import ints, numbers
from triptych.cute.memory.access import read, read_vector, write, write_vector
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.addresses import permuted
from triptych.cute.memory.element_storage import element_value
from triptych.cute.memory.pointers import Pointer
from triptych.cute.memory.vectors import splat
from triptych.cute.tensors.coordinates import (
    UndefinedElement,
    check_coordinate,
    check_inside,
    is_checked,
    is_negative,
    reaching,
    within_ones,
)
from triptych.cute.tensors.debugger_views import shown_integers, shown_pointer, shown_tensor, shown_vector
from triptych.cute.tensors.numpy_hints import NumpyHints
from triptych.cute.tensors.value import TensorSSA
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.errors import ElementTypeError, StaticTensorError, TensorIndexError, TensorShapeError
from triptych.ir.handles import Value
from triptych.layout import (
    AnyLayout,
    ComposedLayout,
    Int,
    IntTuple,
    Layout,
    Swizzle,
    SymInt,
    coalesce,
    crd2idx,
    leading_dim,
    product,
    size,
    slice_and_offset,
    text,
    tuple_add,
)
from triptych.layout.coordinates import all_indices, every_index, has_underscore
from triptych.layout.tuples import Coord, Modes, leaves
from triptych.metastage.arguments.argument_kinds import WantedArgument
from triptych.metastage.debugger.debugger_hooks import register_shown
from triptych.metastage.trace.trace import place
from triptych.metastage.values.coercion import require_kept
from triptych.metastage.values.scalars import Numeric
from triptych.support.wording import with_article

# Meta-stage, whole values on their way into a tensor: as vectors of its element type, or refused.


class Stored(Protocol):
    """What a store asks of the tensor that it goes into."""

    @property
    def pointer(self) -> Pointer: ...

    @property
    def layout(self) -> Layout | ComposedLayout: ...


def splat_value(value: object, count: int, tensor: Stored) -> Any:
    """A number as a vector of the element type that has it everywhere."""
    dtype = tensor.pointer.dtype
    return splat(tracing(), element_value(value, dtype, tensor), count, dtype.info.mlir)


def vector_value(data: object, tensor: Stored) -> Any:
    """A tensor value as a vector of the element type."""
    dtype = tensor.pointer.dtype
    if not isinstance(data, TensorSSA):
        raise ElementTypeError(
            f"{with_article(type(data).__name__)} cannot be stored",
            span=place(),
            found=f"{with_article(type(data).__name__)} for {tensor}",
            expected="a TensorSSA, as `load()` and arithmetic make it",
            instead="tensor.fill(x) for one number, tensor[coord] = x for one element",
        )
    if not _same_elements(data.shape, tensor.layout.shape):
        raise TensorShapeError(
            "a value of another shape is stored",
            span=place(),
            found=f"the shape {text(data.shape)} for {tensor}",
            expected=f"the shape {text(tensor.layout.shape)}",
            instead="a reshape of the value, or the matching part of the tensor",
        )
    require_kept(data.dtype, dtype, tensor, ElementTypeError)
    return data.to(dtype).ir_value() if data.dtype is not dtype else data.ir_value()


def _same_elements(value: IntTuple, tensor: IntTuple) -> bool:
    """Whether two shapes name the same elements in the same order: one is flat, or brackets and ones differ."""
    left, right = ([extent for extent in leaves(shape) if extent != 1] for shape in (value, tensor))
    return left == right or (min(len(left), len(right)) < 2 and product(value) == product(tensor))


class Tensor(NumpyHints):
    """iterator o layout. The iterator is a pointer, or a coordinate for tensors of coordinates."""

    __module__ = "triptych.cute"  # where programs have it from: signatures and help name it so
    __slots__ = ("iterator", "layout")
    __runtime_mutable__ = True
    """What is assigned changes memory when the program runs, not the Python object."""
    __wanted_argument__ = WantedArgument(
        "a tensor: a NumPy array, a torch tensor, or another object with `__dlpack__`",
        "`np.asarray({0}, np.float32)`, or a parameter `{0}` without the annotation",
    )

    def __init__(self, iterator: Pointer | IntTuple, layout: AnyLayout) -> None:
        self.iterator: Pointer | Any = iterator
        """The pointer of a tensor in memory; of a tensor of coordinates, the first one."""
        self.layout: Layout | Any = layout
        """A `Layout`, or a `ComposedLayout` where a swizzle or an offset belongs to it."""

    # what it is -------------------------------------------------------------------------------------------------
    @property
    def shape(self) -> Modes:
        """The extents: ints that are known while tracing, numbers of the run, or tuples of them."""
        return numbers(self.layout.shape)

    @property
    def stride(self) -> Modes:
        """How many elements lie between neighbours, nested like the shape."""
        outer = self.layout.outer if isinstance(self.layout, ComposedLayout) else self.layout
        return numbers(outer.stride)

    @property
    def element_type(self) -> type[Numeric] | Any:
        """The type of the elements; None for coordinates, which are tuples."""
        return self.iterator.dtype if isinstance(self.iterator, Pointer) else None

    dtype = element_type
    _dtype = element_type  # public programs ask for it by this name

    @property
    def type(self) -> str:
        """What is known of it while tracing, as text."""
        return str(self)

    @property
    def value(self) -> Tensor:
        """What builder calls (`cutlass._mlir.dialects`) take for it: itself."""
        return self

    @property
    def memspace(self) -> AddressSpace | Any:
        """Where the elements are; None for coordinates."""
        return self.iterator.memspace if isinstance(self.iterator, Pointer) else None

    @property
    def leading_dim(self) -> int | tuple[int, ...] | None:
        """The mode whose step is known to be 1."""
        return leading_dim(self.shape, self.stride)

    @property
    def pointer(self) -> Pointer:
        """The iterator of a tensor in memory."""
        if isinstance(self.iterator, Pointer):
            return self.iterator
        raise StaticTensorError(
            "a tensor of coordinates has no memory",
            span=place(),
            found=str(self),
            expected="a tensor made of a pointer",
            instead="tensor[coord], which is a coordinate",
        )

    def __str__(self) -> str:
        iterator = self.iterator if isinstance(self.iterator, Pointer) else text(self.iterator)
        return f"tensor<{iterator} o {self.layout}>"

    __repr__ = __str__

    # elements ---------------------------------------------------------------------------------------------------
    def __getitem__(self, coord: object, *, loc: object = None, ip: object = None) -> Any:
        """An element, or with None in the coordinate the part that the rest of it selects."""
        where = ints(coord)
        is_part = has_underscore(where)
        in_memory = isinstance(self.iterator, Pointer)
        try:
            check_inside(where, self.layout.shape, self, is_bounded=not is_part or in_memory)
        except TensorIndexError as error:
            if is_part or is_negative(where) or self.memspace not in (AddressSpace.rmem, None):
                raise
            if in_memory:
                return UndefinedElement(error)
        if is_part:
            return self.part(where)
        if not isinstance(self.iterator, Pointer):
            return numbers(tuple_add(self.iterator, crd2idx(where, self.layout)))
        trace = tracing()
        return self.iterator.dtype.of(read(self.iterator, self._element(where), self), trace.region)

    def __setitem__(self, coord: object, value: object, *, loc: object = None, ip: object = None) -> None:
        if isinstance(value, UndefinedElement):
            value.leave_out()
            return
        where = ints(coord)
        check_inside(where, self.layout.shape, self)
        if has_underscore(where):
            part = self.part(where)
            part.store(value) if isinstance(value, TensorSSA) else part.fill(value)
            return
        pointer = self.pointer
        write(pointer, self._element(where), element_value(value, pointer.dtype, self), self)

    def __iter__(self) -> Iterator[Any]:
        """The elements, first coordinate fastest, while tracing; without it Python would count up without an end."""
        return map(self.__getitem__, range(static_size(self.layout, self)))

    def offset(self, coord: Coord) -> Int:
        """How many elements after the iterator a coordinate lies."""
        layout = self.layout
        if isinstance(layout, ComposedLayout) and isinstance(layout.inner, Swizzle):
            inside = tuple_add(layout.offset, crd2idx(coord, layout.outer))
            assert not isinstance(inside, tuple), "a swizzle permutes integers"
            return permuted(layout.inner, inside)
        index = crd2idx(coord, layout)
        assert not isinstance(index, tuple), "make_tensor has refused a layout into coordinates over a pointer"
        return index

    def _element(self, coord: Coord) -> Int:
        """The offset of an element that is read or written."""
        if is_checked(self.pointer):
            check_coordinate(coord, self.layout, self)
        return self.offset(within_ones(coord, self.layout.shape))

    def part(self, coord: Coord) -> Tensor:
        """The sub-tensor of the modes where the coordinate is None."""
        layout, offset = slice_and_offset(coord, self.layout)
        if not isinstance(self.iterator, Pointer):
            return self.moved(offset, layout)
        return Tensor(reaching(self.iterator, coord, self.layout), self.layout).moved(offset, layout)

    def moved(self, offset: IntTuple, layout: AnyLayout) -> Tensor:
        """The tensor of another layout that begins `offset` after this one."""
        if not isinstance(self.iterator, Pointer):
            return Tensor(tuple_add(self.iterator, offset), layout)
        assert not isinstance(offset, tuple), "a pointer advances by one number"
        return Tensor(self.iterator.advanced(offset), layout)

    # whole tensors ----------------------------------------------------------------------------------------------
    def load(self) -> TensorSSA:
        """All elements as a value."""
        pointer = self.pointer
        vector = read_vector(pointer, self._offsets(), self)
        return TensorSSA(vector, self.layout.shape, pointer.dtype)

    def store(self, data: TensorSSA) -> None:
        """Write a value of the same shape."""
        self._write(vector_value(data, self))

    def fill(self, value: object) -> None:
        """Write one number everywhere."""
        self._write(splat_value(value, len(self._offsets()), self))

    def _write(self, vector: Value) -> None:
        write_vector(self.pointer, self._offsets(), vector, self)

    def _offsets(self) -> Sequence[Int]:
        """The offset of every element, first coordinate fastest."""
        count = static_size(self.layout, self)
        if isinstance(self.layout, Layout):
            flat = coalesce(self.layout)
            if not isinstance(flat.shape, tuple) and isinstance(flat.stride, int) and flat.stride == 1:
                return range(count)
            shape, stride = self.layout.shape, self.layout.stride
            if all(type(extent) is int for extent in leaves(shape)):
                is_known = all(type(step) is int for step in leaves(stride))
                return all_indices(shape, stride) if is_known else every_index(shape, stride)
        return [self.offset(i) for i in range(count)]

    # crossing branches, loops, calls and launches -----------------------------------------------------------------
    def __extract_mlir_values__(self) -> list[Any]:
        numbers_inside = [unknown.number for unknown in unknowns(self._coordinate(), self.layout)]
        if not isinstance(self.iterator, Pointer):
            return numbers_inside
        return [*self.iterator.__extract_mlir_values__(), *numbers_inside]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Tensor:
        inside = unknowns(self._coordinate(), self.layout)
        count = len(values) - len(inside)
        layout = rebuilt(self.layout, inside, values[count:])
        if not isinstance(self.iterator, Pointer):
            return Tensor(rebuilt(self.iterator, inside, values[count:]), layout)
        return Tensor(self.iterator.__new_from_mlir_values__(values[:count]), layout)

    def __static_part__(self) -> tuple[Any, ...]:
        inside = unknowns(self._coordinate(), self.layout)
        pointer = self.iterator.__static_part__() if isinstance(self.iterator, Pointer) else None
        facts = tuple(unknown.facts() for unknown in inside)
        return pointer, anonymous(self._coordinate(), inside), anonymous(self.layout, inside), facts

    def _coordinate(self) -> IntTuple:
        return () if isinstance(self.iterator, Pointer) else self.iterator


def static_size(layout: AnyLayout, what: object) -> int:
    """The number of elements, which an operation on whole tensors must know now."""
    count = size(layout)
    if isinstance(count, int):
        return count
    raise StaticTensorError(
        "an operation on a whole tensor needs a shape that is known while tracing",
        span=place(),
        found=str(what),
        expected="a static shape",
        instead="a tile of a static shape (`cute.local_tile`, `cute.zipped_divide`) or of a `Constexpr` argument, or a "
        "loop over the elements",
    )


for _kind, _maker in (
    (Tensor, shown_tensor),
    (TensorSSA, shown_vector),
    (Pointer, shown_pointer),
    *((kind, shown_integers) for kind in (Layout, ComposedLayout, SymInt)),
):
    register_shown(_kind, _maker)
