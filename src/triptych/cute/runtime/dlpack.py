"""DLPack tensors as arguments whose layout is part of the program, or is marked to be dynamic."""

from __future__ import annotations

from collections.abc import Sequence
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
    element_of_view,
    elements_in_a_byte,
    natural_alignment,
    tensor_kind,
)
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import TensorMarkingError
from triptych.diagnostics.tensor_errors import ArgumentTensorError, UnsupportedTensorError
from triptych.interop.dlpack import ELEMENT_CODES, PACKED_ELEMENTS, DLTensor, TensorView, tensor_view
from triptych.interop.fake_views import view_of_fake
from triptych.layout import Int, Layout
from triptych.layout.tuples import flat
from triptych.metastage.values.scalars import Numeric, numeric_class

_MOST_32 = (1 << 31) - 1


class RuntimeTensor(DescribedTensor, TensorView):
    """A tensor from outside with the kind of argument that it is; markings change the kind and give the tensor back."""

    __slots__ = ("__argument_kind__", "_extents", "_narrow", "_order")

    def __init__(self, view: TensorView, kind: TensorKind, *, narrow: bool) -> None:
        super().__init__(DLTensor.from_address(view.__dltensor__), view, read_only=view.read_only)
        self.__argument_kind__ = kind
        self._narrow = narrow
        self._extents: tuple[Int, ...] = view.extents
        """With the unknowns that the tensor has been marked with."""
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
        self._described.code, self._described.bits = ELEMENT_CODES[element]
        self.__argument_kind__ = tensor_kind(element, kind.layout, kind.alignment, kind.space)

    @eager
    def mark_layout_dynamic(self, leading_dim: int | None = None) -> RuntimeTensor:
        """All extents and strides dynamic but the stride 1 of the leading mode and strides of 0."""
        shape, stride = self.extents, self.strides
        if leading_dim is None:
            leading = deduced_leading_mode(shape, stride)
        else:
            leading = given_leading_mode(shape, stride, leading_dim)
        packed = elements_in_a_byte(self.__argument_kind__.element)
        layout = all_dynamic(shape, stride, leading, wide=not self._narrow, in_a_byte=packed)
        self._extents = flat(layout.shape)
        return self._marked(layout)

    @eager
    def mark_compact_shape_dynamic(
        self, mode: int, stride_order: Sequence[int] | None = None, divisibility: int = 1
    ) -> RuntimeTensor:
        """One extent of a compact tensor dynamic, and with it the strides that depend on it.

        What has been marked before stays dynamic. `stride_order` are the modes from the outermost to the innermost.
        """
        shape, stride = self.extents, self.strides
        mode = checked_mode(mode, len(shape), "mode")
        order = self._agreed_order(stride_order)
        check_compact(shape, stride, order)
        if divisibility < 1 or shape[mode] % divisibility:
            raise TensorMarkingError(
                f"the extent of mode {mode} is not a multiple of {divisibility}",
                found=f"extent {shape[mode]}, divisibility={divisibility}",
                expected="a divisor of the extent",
            )
        extents = tuple(extent_unknown(i, divisibility) if i == mode else e for i, e in enumerate(self._extents))
        self._extents, self._order = extents, order
        return self._marked(Layout(extents, compact_steps(extents, order)))

    def _agreed_order(self, given: Sequence[int] | None) -> tuple[int, ...]:
        shape, stride = self.extents, self.strides
        order = None if given is None else checked_order(given, len(shape))
        if self._order is None:
            return order or deduced_order(shape, stride)
        if order is not None and order != self._order:
            raise TensorMarkingError(
                "stride_order is another one than before",
                found=f"stride_order={order}",
                expected=f"stride_order={self._order}, as the tensor was marked with first",
            )
        return self._order

    def _marked(self, layout: Layout) -> RuntimeTensor:
        if self._narrow:
            _check_narrow(self)
        kind = self.__argument_kind__
        self.__argument_kind__ = tensor_kind(kind.element, layout, kind.alignment, kind.space)
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
    view = view_of_fake(tensor) or tensor_view(tensor)
    element = element_of_view(view)
    alignment = assumed_align or natural_alignment(element)
    if alignment < 1 or alignment & (alignment - 1) or view.address % alignment:
        raise ArgumentTensorError(
            "the tensor is not aligned as assumed",
            found=f"the address {view.address:#x}, assumed_align={alignment}",
            expected="a power of two that divides the address",
            instead="`assumed_align=` what divides its address, or a copy, which begins at an aligned address",
        )
    kind = tensor_kind(element, Layout(view.extents, view.strides), alignment)
    return RuntimeTensor(view, kind, narrow=use_32bit_stride)


def _check_narrow(tensor: RuntimeTensor) -> None:
    reach = sum((extent - 1) * step for extent, step in zip(tensor.extents, tensor.strides, strict=True))
    if reach > _MOST_32:
        raise TensorMarkingError(
            "32 bits are not enough for the strides of this tensor",
            found=f"elements up to {reach} steps away",
            expected=f"at most {_MOST_32}",
            instead="use_32bit_stride=False",
        )
