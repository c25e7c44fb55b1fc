"""MMA atoms: a matrix product on a small tile, how its threads share the tile, and fragments that fit it.

An operation is a class that says its threads, layouts and operands, and emits itself (`MmaOperation`). Nobody else
knows which operations exist, so a new one adds files and edits none.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from triptych.cute.dynamic.static_values import StaticExpression
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.mma.run_time_fields import Fields, get_field, set_field
from triptych.cute.tensors.factories import make_fragment_like, make_rmem_tensor
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.errors import DeviceOnlyError, MatrixOperandError
from triptych.cute.tracing.operation_protocol import Operation
from triptych.layout import AnyLayout, ComposedLayout, IntTuple, Layout, rank
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Float32, Numeric, TFloat32
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Operand:
    """A fragment as (values, first mode, second mode); modes that it does not have are 1."""

    name: str
    modes: str
    """The letters of the two modes."""
    tensor: Tensor
    dtype: type[Numeric]
    extents: tuple[int, int, int]

    def offset(self, first: int, second: int) -> Any:
        """Where the only value of a universal atom lies."""
        return self.tensor.offset((0, first, second)[: rank(self.tensor.layout)])


@dataclass(frozen=True, slots=True)
class MmaOperands:
    """The checked operands of one call."""

    d: Operand
    a: Operand
    b: Operand
    c: Operand
    accumulate: Any = True
    """Whether C is added: a Boolean, where the operation has a field for it."""
    sfa_address: Any = None
    sfb_address: Any = None
    """Where block scales are in tensor memory, where the operation has fields for it."""
    sfa: Operand | None = None
    sfb: Operand | None = None
    """Block scales of A and of B, where the operation has them."""

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Atoms along M, N and K."""
        return self.a.extents[1], self.b.extents[1], self.a.extents[2]


@dataclass(frozen=True, slots=True)
class BlockScales:
    """Numbers that neighbours along K of a row of A, or of B, are multiplied by."""

    dtype: type[Numeric]
    vector: int
    """How many neighbours share one."""
    tv_a: Layout
    tv_b: Layout
    """(thread, value) -> m + M * k, or n + N * k, a value for each element along K."""


def misfit(title: str, found: str, expected: str, instead: str = "") -> MatrixOperandError:
    """The error of an operand that does not fit."""
    return MatrixOperandError(title, span=place(), found=found, expected=expected, instead=instead)


class MmaOperation(StaticExpression, Operation, ABC):
    """One product D = A * B + C on a tile: what it takes, who computes it, and how it is emitted."""

    __slots__ = ()

    a_dtype: Any
    b_dtype: Any
    acc_dtype: Any
    """The element types of A, of B, and of C and D: attributes or properties."""
    shape_mnk: Any
    """The extents M, N and K, a tuple of ints."""

    @property
    @abstractmethod
    def threads(self) -> Layout:
        """The threads that compute it together."""

    @property
    @abstractmethod
    def tv_layout_A(self) -> Layout:
        """(thread, value) -> m + M * k."""

    @property
    @abstractmethod
    def tv_layout_B(self) -> Layout:
        """(thread, value) -> n + N * k."""

    @property
    @abstractmethod
    def tv_layout_C(self) -> Layout:
        """(thread, value) -> m + M * n."""

    @property
    def operand_space(self) -> AddressSpace | None:
        """The memory that all operands must lie in; None for any."""
        return None

    @property
    def scales(self) -> BlockScales | None:
        """The block scales that A and B have, if any."""
        return None

    def held_dtype(self, operand: str) -> type[Numeric]:
        """The element type of the registers that hold A or B."""
        held: type[Numeric] = self.a_dtype if operand == "A" else self.b_dtype
        return held

    def space_of(self, operand: str) -> AddressSpace | None:
        """The memory that one operand, A, B, C or D, must lie in."""
        return self.operand_space

    def fragment(self, operand: str, source: Tensor | AnyLayout | IntTuple) -> Tensor | None:
        """What `make_fragment_A`, `_B` or `_C` gives where an operand does not lie in registers."""
        return None

    @property
    def fields(self) -> Fields:
        """What programs change of it at run time, such as whether products are added to D."""
        return {}

    def require(self, threads: int) -> None:
        """Refuse a kernel in which `threads` threads cannot compute it. Called before `emit`."""

    @abstractmethod
    def emit(self, product: MmaOperands) -> None:
        """Emit all instructions of a product whose operands have been checked, in operations of any target."""


@dataclass(frozen=True, slots=True)
class MmaAtom(StaticExpression):
    """One product D = A * B + C on tiles A (m, k), B (n, k), C and D (m, n)."""

    op: MmaOperation

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        """The extents M, N and K of one product."""
        extents: tuple[int, int, int] = self.op.shape_mnk
        return extents

    @property
    def thr_id(self) -> Layout:
        """The threads that compute it together."""
        return self.op.threads

    @property
    def tv_layout_A(self) -> Layout:
        """(thread, value) -> m + M * k."""
        return self.op.tv_layout_A

    @property
    def tv_layout_B(self) -> Layout:
        """(thread, value) -> n + N * k."""
        return self.op.tv_layout_B

    @property
    def tv_layout_C(self) -> Layout:
        """(thread, value) -> m + M * n."""
        return self.op.tv_layout_C

    def make_fragment_A(self, source: Tensor | AnyLayout | IntTuple) -> Tensor:
        """Registers for a part of A: like a partition of it, or of the shape of one. Of a partition of shared memory
        that the operation reads itself, a view of it."""
        view = self.op.fragment("A", source)
        return _registers(source, _held(self.op.held_dtype("A"), source)) if view is None else view

    def make_fragment_B(self, source: Tensor | AnyLayout | IntTuple) -> Tensor:
        """Registers for a part of B, or a view of shared memory."""
        view = self.op.fragment("B", source)
        return _registers(source, _held(self.op.held_dtype("B"), source)) if view is None else view

    def make_fragment_C(self, source: Tensor | AnyLayout | IntTuple) -> Tensor:
        """Registers for a part of the sums, whatever the type that memory holds, or a part of tensor memory."""
        view = self.op.fragment("C", source)
        return _registers(source, self.op.acc_dtype) if view is None else view

    def set(self, field: object, value: object) -> None:
        """Give a field of the operation a value, from here on."""
        set_field(self, self.op.fields, field, value)

    def get(self, field: object) -> Any:
        """The value of a field of the operation."""
        return get_field(self, self.op.fields, field)

    def __str__(self) -> str:
        return str(self.op)

    __repr__ = __str__


def make_mma_atom(op: MmaOperation) -> MmaAtom:
    """The atom of an operation."""
    if not isinstance(op, MmaOperation):
        raise OperandTypeError(
            "this is no matrix operation",
            span=place(),
            found=repr(op),
            expected="nvgpu.MmaUniversalOp(...) or an operation of nvgpu.warp or nvgpu.warpgroup",
        )
    return MmaAtom(op)


def _held(dtype: type[Numeric], source: object) -> type[Numeric]:
    """Registers of TFloat32 are those of Float32: what is copied into them keeps its bits."""
    is_float32 = not isinstance(source, Tensor) or source.element_type is not TFloat32
    return Float32 if dtype is TFloat32 and is_float32 else dtype


def _registers(source: Tensor | AnyLayout | IntTuple, dtype: type[Numeric]) -> Tensor:
    if isinstance(source, Tensor | Layout | ComposedLayout):
        fragment: Tensor = make_fragment_like(source, dtype)
        return fragment
    return make_rmem_tensor(source, dtype)


def threads_of_block(op: MmaOperation) -> int | None:
    """Threads of a block of the kernel that is traced, if they are known; refused in host code."""
    kernel = tracing().kernel
    if kernel is None:
        raise DeviceOnlyError(
            "a matrix instruction exists only inside a kernel",
            span=place(),
            found=f"a product by {op} in host code",
            expected="a call in a `@kernel` function, or in one that it calls",
        )
    return math.prod(kernel.block) if all(isinstance(extent, int) for extent in kernel.block) else None
