"""DLPack tensors as arguments whose layout is part of the program, or is marked to be dynamic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NoReturn

from triptych.cute.runtime.fake_tensors import FakeTensor
from triptych.cute.runtime.markings import (
    all_dynamic,
    check_compact,
    checked_mode,
    checked_order,
    compact_steps,
    deduced_leading_mode,
    deduced_order,
    extent_unknown,
    given_leading_mode,
)
from triptych.cute.runtime.pointers import PointerKind, RuntimePointer
from triptych.cute.runtime.tensor_kinds import (
    DescribedTensor,
    TensorKind,
    element_of_facts,
    elements_in_a_byte,
    natural_alignment,
    tensor_kind,
)
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import TensorMarkingError
from triptych.diagnostics.tensor_errors import ArgumentTensorError, UnsupportedTensorError
from triptych.interop.dlpack import ELEMENT_CODES, PACKED_ELEMENTS, TensorFacts, TensorMemory, tensor_facts
from triptych.interop.fake_views import fake_memory
from triptych.interop.tensor_views import TensorView, exported_memory, read_memory
from triptych.layout import Layout
from triptych.layout.tuples import flat
from triptych.metastage.values.scalars import Numeric, numeric_class

_MOST_32 = (1 << 31) - 1
_MOST_KINDS = 4096
"""How many are remembered: a program marks few layouts, or so many that the next one is new."""


class RuntimeTensor(DescribedTensor, TensorView):
    """A tensor from outside with the kind of argument that it is; markings change the kind and give the tensor back."""

    __slots__ = ("__argument_kind__", "_narrow", "_order")

    def __init__(self, memory: TensorMemory, kind: TensorKind, narrow: bool) -> None:
        super().__init__(memory)
        self.__argument_kind__ = kind
        self._narrow = narrow
        self._order: tuple[int, ...] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process compiles for a tensor of this kind; the memory stays here."""
        return FakeTensor, (self.__argument_kind__,)

    @eager
    def __deepcopy__(self, _: object) -> NoReturn:
        """Refused: the memory is another library's."""
        raise UnsupportedTensorError(
            "the tensor of another library cannot be copied by Python",
            found=str(self),
            expected="a copy of the tensor that `from_dlpack` was given, by its own library",
        )

    def __copy__(self) -> NoReturn:
        self.__deepcopy__(None)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.extents

    @property
    def stride(self) -> tuple[int, ...]:
        """The strides in elements."""
        return self.strides

    @property
    def iterator(self) -> RuntimePointer:
        """A pointer to the first element, which can be an argument by itself."""
        kind = self.__argument_kind__
        return RuntimePointer(self.address, PointerKind(kind.element, kind.space, kind.alignment), self)

    @property
    def element_type(self) -> type[Numeric]:
        """The type of the elements; assigning another reads the same bytes as that."""
        return super().element_type

    @element_type.setter
    def element_type(self, other: type[Numeric]) -> None:
        self._reinterpret(numeric_class(other).__name__)

    @eager
    def _reinterpret(self, element: str) -> None:
        """The same bytes as elements of another type, for libraries that know fewer types than the language."""
        kind = self.__argument_kind__
        bits, before = ELEMENT_CODES.get(element, (0, 0))[1], ELEMENT_CODES[kind.element][1]
        # Bytes may hold one narrow element each until a kernel packs them: as many, at the same places.
        if bits != before and not (before == 8 and element in PACKED_ELEMENTS):
            raise UnsupportedTensorError(
                f"elements of type {kind.element} cannot be taken for elements of type {element}",
                found=element,
                expected=f"a type of tensor elements with {before} bits",
            )
        facts, codes = self._facts, ELEMENT_CODES[element]
        self._facts = tensor_facts(*codes, facts.extents, facts.strides, 1, facts.device, facts.device_number)
        self._described.code, self._described.bits = codes
        self.__argument_kind__ = tensor_kind(element, kind.layout, kind.alignment, kind.space)

    @eager
    def mark_layout_dynamic(self, leading_dim: int | None = None) -> RuntimeTensor:
        """All extents and strides dynamic but the stride 1 of the leading mode and strides of 0."""
        self.__argument_kind__ = _dynamic_kind(self._facts, self.__argument_kind__, leading_dim, self._narrow)
        return self

    @eager
    def mark_compact_shape_dynamic(
        self, mode: int, stride_order: Sequence[int] | None = None, divisibility: int = 1
    ) -> RuntimeTensor:
        """One extent of a compact tensor dynamic, and with it the strides that depend on it.

        What has been marked before stays dynamic. `stride_order` are the modes from the outermost to the innermost.
        """
        given = None if stride_order is None else tuple(stride_order)
        self.__argument_kind__, self._order = _compact_kind(
            self._facts, self.__argument_kind__, self._order, mode, given, divisibility, self._narrow
        )
        return self

    def __str__(self) -> str:
        return f"Tensor<0x{self.address:016x}@{self.memspace.name} o {self.layout}>"

    __repr__ = __str__


@eager
def from_dlpack(
    tensor: object, assumed_align: int | None = None, use_32bit_stride: bool = False, **_: bool
) -> RuntimeTensor:
    """A tensor whose layout is part of the program: calls with another layout compile anew, or are errors.

    `assumed_align` in bytes; by default the alignment of an element. With `use_32bit_stride` dynamic strides have 32
    bits. A tensor of torch's `FakeTensorMode` has no memory: functions are compiled for it, and called with real ones.
    `enable_tvm_ffi` and `force_tf32` of other implementations change nothing here.
    """
    memory = read_memory(tensor) or fake_memory(tensor) or exported_memory(tensor)
    facts, address = memory[:2]
    kind = _static_kind(facts, assumed_align)
    alignment = assumed_align or kind.alignment
    if alignment < 1 or alignment & (alignment - 1) or address % alignment:
        raise ArgumentTensorError(
            "the tensor is not aligned as assumed",
            found=f"the address {address:#x}, assumed_align={alignment}",
            expected="a power of two that divides the address",
            instead="`assumed_align=` what divides its address, or a copy, which begins at an aligned address",
        )
    return RuntimeTensor(memory, kind, use_32bit_stride)


# The kind of an argument follows from the facts of the tensor and the marks: computing it takes 20 to 60 µs, so each is
# computed once. Tensors of equal facts share them, so looking one up compares addresses.


@lru_cache(maxsize=_MOST_KINDS, typed=True)
def _static_kind(facts: TensorFacts, alignment: int | None) -> TensorKind:
    element = element_of_facts(facts)
    return tensor_kind(element, Layout(facts.extents, facts.strides), alignment or natural_alignment(element))


@lru_cache(maxsize=_MOST_KINDS, typed=True)
def _dynamic_kind(facts: TensorFacts, kind: TensorKind, leading_dim: int | None, narrow: bool) -> TensorKind:
    """The kind with all integers dynamic."""
    shape, stride = facts.extents, facts.strides
    if leading_dim is None:
        leading = deduced_leading_mode(shape, stride)
    else:
        leading = given_leading_mode(shape, stride, leading_dim)
    if narrow:
        _check_narrow(facts)
    layout = all_dynamic(shape, stride, leading, wide=not narrow, in_a_byte=elements_in_a_byte(kind.element))
    return tensor_kind(kind.element, layout, kind.alignment, kind.space)


@lru_cache(maxsize=_MOST_KINDS, typed=True)
def _compact_kind(
    facts: TensorFacts,
    kind: TensorKind,
    before: tuple[int, ...] | None,
    mode: int,
    given: tuple[int, ...] | None,
    divisibility: int,
    narrow: bool,
) -> tuple[TensorKind, tuple[int, ...]]:
    """The kind with one more extent dynamic, and the order of the modes; `before` is the order of the first mark."""
    shape, stride = facts.extents, facts.strides
    mode = checked_mode(mode, len(shape), "mode")
    order = _agreed_order(facts, before, given)
    check_compact(shape, stride, order)
    if divisibility < 1 or shape[mode] % divisibility:
        raise TensorMarkingError(
            f"the extent of mode {mode} is not a multiple of {divisibility}",
            found=f"extent {shape[mode]}, divisibility={divisibility}",
            expected="a divisor of the extent",
        )
    if narrow:
        _check_narrow(facts)
    marked = enumerate(flat(kind.layout.shape))
    extents = tuple(extent_unknown(i, divisibility) if i == mode else extent for i, extent in marked)
    layout = Layout(extents, compact_steps(extents, order))
    return tensor_kind(kind.element, layout, kind.alignment, kind.space), order


def _agreed_order(facts: TensorFacts, before: tuple[int, ...] | None, given: tuple[int, ...] | None) -> tuple[int, ...]:
    order = None if given is None else checked_order(given, len(facts.extents))
    if before is None:
        return order or deduced_order(facts.extents, facts.strides)
    if order is not None and order != before:
        raise TensorMarkingError(
            "stride_order is another one than before",
            found=f"stride_order={order}",
            expected=f"stride_order={before}, as the tensor was marked with first",
        )
    return before


def _check_narrow(facts: TensorFacts) -> None:
    reach = sum((extent - 1) * step for extent, step in zip(facts.extents, facts.strides, strict=True))
    if reach > _MOST_32:
        raise TensorMarkingError(
            "32 bits are not enough for the strides of this tensor",
            found=f"elements up to {reach} steps away",
            expected=f"at most {_MOST_32}",
            instead="use_32bit_stride=False",
        )
