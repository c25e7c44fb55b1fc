"""What tensors that are arguments tell of themselves: everything that compiled code will know of them."""

from __future__ import annotations

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.runtime.argument_protocol import PublicArgument
from triptych.cute.runtime.tensor_kinds import TensorKind
from triptych.layout import Layout, leading_dim
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Numeric


class DescribedTensor(PublicArgument):
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

    @property
    def dtype(self) -> type[Numeric]:
        return self.element_type

    @property
    def leading_dim(self) -> int | None:
        """The mode whose step is known to be 1."""
        found = leading_dim(self.layout.shape, self.layout.stride)
        assert not isinstance(found, tuple), "shapes of arguments are flat"
        return found
