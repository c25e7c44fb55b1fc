"""What tensors that are arguments tell of themselves: everything that compiled code will know of them."""

from __future__ import annotations

from triptych.cute.address_spaces import AddressSpace
from triptych.cute.runtime.tensor_kinds import TensorKind
from triptych.layout import Layout
from triptych.metastage.scalars import NUMERIC_CLASSES, Numeric


class DescribedTensor:
    """A tensor with the kind of argument that it is, real or fake."""

    __slots__ = ()

    __argument_kind__: TensorKind

    @property
    def layout(self) -> Layout:
        """As compiled code will know it."""
        return self.__argument_kind__.layout

    @property
    def memspace(self) -> AddressSpace:
        return self.__argument_kind__.space

    @property
    def element_type(self) -> type[Numeric]:
        return NUMERIC_CLASSES[self.__argument_kind__.element]

    dtype = element_type
