"""Copy atoms: a copy instruction for elements of a type, and which of them it moves at once.

An instruction is a class that says what it moves and emits itself (`CopyOperation`); nobody else knows which exist.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from triptych.cute.dynamic.static_values import StaticExpression
from triptych.cute.memory.hints import LoadCacheMode, MemoryOrder, MemoryScope
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import TensorShapeError
from triptych.cute.tracing.operation_protocol import Operation
from triptych.layout import Layout, size
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric, numeric_class
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CopyLayouts:
    """What an instruction moves: layouts (thread, value) -> number of an element, equal numbers being one element."""

    threads: Layout
    """The threads that execute it together."""
    source: Layout
    destination: Layout
    reference: Layout
    """The side whose threads and values a tiled copy deals out: that of the registers, where there are some."""


@dataclass(frozen=True, slots=True)
class CopyOperands:
    """What a program gives a copy beside the tensors: only some operations take any of it."""

    barrier: Any = None
    """Where the bytes are counted that have arrived."""
    blocks: Any = None
    """A mask of the blocks of the cluster that receive them."""
    map: Any = None
    """A tensor map in memory, in the place of the atom's own."""
    cache_policy: Any = None
    counter: Any = None
    """The mbarrier of a store into another block."""

    def given(self) -> list[str]:
        """The keywords of `cute.copy` that are not left out."""
        names = zip(_KEYWORDS, (self.barrier, self.blocks, self.map, self.cache_policy, self.counter), strict=True)
        return [name for name, value in names if value is not None]


_KEYWORDS = ("tma_bar_ptr", "mcast_mask", "tma_desc_ptr", "cache_policy", "mbar_ptr")


class CopyOperation(Operation, ABC):
    """A kind of copy instruction: its layouts, what may be said of it, and how it is emitted."""

    __slots__ = ()
    is_ordered: ClassVar[bool] = False
    """Whether a program may say how it is ordered with other accesses."""
    is_divisible: ClassVar[bool] = False
    """Whether it may move any number of elements, one by one or joined, in the place of what it says."""

    def layouts(self, dtype: type[Numeric], num_bits_per_copy: int) -> CopyLayouts:
        """What it moves of elements of a type: one thread moves the given bits, or one element."""
        values = Layout((1, max(1, num_bits_per_copy // dtype.width)), (0, 1))
        return CopyLayouts(Layout(1, 0), values, values, values)

    @property
    def load_cache_mode(self) -> LoadCacheMode:
        """Which caches keep what its plain loads read."""
        return LoadCacheMode.ALWAYS

    def operands(self, atom: CopyAtom, src: Tensor, dst: Tensor) -> tuple[Tensor, Tensor]:
        """The two sides as the instruction takes them, where a program may also give them otherwise."""
        return src, dst

    def emit_whole(self, atom: CopyAtom, src: Tensor, dst: Tensor, operands: CopyOperands) -> bool:
        """Emit a copy as a whole, where it is none that every thread makes instruction by instruction."""
        return False

    def emit_prefetch(self, atom: CopyAtom, src: Tensor) -> bool:
        """Emit what brings the source of a copy into caches, where that is not done line by line."""
        return False

    def emit_reduced(self, atom: CopyAtom, src: Tensor, dst: Tensor, reduced: Tensor, index: int) -> bool:
        """Emit instruction `index` of an operation that also reduces what it moves to element `index` of `reduced`."""
        return False

    def emit_guarded(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int, allowed: object) -> bool:
        """Emit instruction `index` with its predicate, where an operation has one of its own."""
        return False

    @abstractmethod
    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        """Emit instruction `index` of tensors (values of an instruction, instructions), in operations of any target."""


class CopyTrait(ABC):
    """What a program has beside a copy operation that makes an atom of it: `CopyAtom(operation, trait)`."""

    __slots__ = ()

    @abstractmethod
    def atom(self, op: CopyOperation) -> CopyAtom:
        """The atom of the operation."""


class _CopyAtoms(type):
    """The class of `CopyAtom`: a call with a trait gives the atom that the trait makes, which may be of a subclass."""

    # Any: what the class that is called makes.
    def __call__(cls, *fields: object, **named: object) -> Any:
        if len(fields) == 2 and isinstance(fields[0], CopyOperation) and isinstance(fields[1], CopyTrait):
            return fields[1].atom(fields[0])
        return super().__call__(*fields, **named)


@dataclass(frozen=True, slots=True)
class CopyAtom(StaticExpression, metaclass=_CopyAtoms):
    """One instruction. `num_bits_per_copy` is what a thread moves alone; 0 leaves it to the operation."""

    op: CopyOperation
    value_type: type[Numeric]
    layouts: CopyLayouts
    num_bits_per_copy: int = 0
    memory_order: MemoryOrder = MemoryOrder.WEAK
    memory_scope: MemoryScope = MemoryScope.CTA

    @property
    def thr_id(self) -> Layout:
        """The threads that execute the instruction together."""
        return self.layouts.threads

    @property
    def layout_src_tv(self) -> Layout:
        """(thread, value) -> number of the element that is read."""
        return self.layouts.source

    @property
    def layout_dst_tv(self) -> Layout:
        """(thread, value) -> number of the element that is written."""
        return self.layouts.destination

    @property
    def values_read(self) -> int:
        """Elements of the source that each thread gives an instruction."""
        return _values(self.layouts.source)

    @property
    def values_written(self) -> int:
        """Elements of the destination that each thread gives an instruction."""
        return _values(self.layouts.destination)

    @property
    def values_held(self) -> int:
        """Elements of the reference side that each thread gives an instruction."""
        return _values(self.layouts.reference)

    def __str__(self) -> str:
        bits = f", {self.num_bits_per_copy or self.value_type.width} bits" if size(self.thr_id) == 1 else ""
        return f"{type(self.op).__name__}<{self.value_type.__name__}{bits}>"

    __repr__ = __str__


def _values(layout: Layout) -> int:
    count = size(layout, [1])
    assert isinstance(count, int), "instructions are of a known size"
    return count


@eager
def make_copy_atom(
    op: CopyOperation,
    copy_internal_type: type[Numeric],
    *,
    num_bits_per_copy: int = 0,
    memory_order: MemoryOrder = MemoryOrder.WEAK,
    memory_scope: MemoryScope = MemoryScope.CTA,
) -> CopyAtom:
    """The copy of elements of a type. A width of 0 stands for one element, joined with others where that is right."""
    if not isinstance(op, CopyOperation):
        raise OperandTypeError(
            "this is no copy operation",
            span=place(),
            found=repr(op),
            expected="one of nvgpu, nvgpu.cpasync or nvgpu.warp, such as nvgpu.CopyUniversalOp()",
        )
    dtype = numeric_class(copy_internal_type)
    if num_bits_per_copy < 0 or num_bits_per_copy % dtype.width:
        raise TensorShapeError(
            f"{num_bits_per_copy} bits are not a number of whole {dtype.__name__}",
            span=place(),
            found=f"num_bits_per_copy={num_bits_per_copy}",
            expected=f"a multiple of {dtype.width}",
        )
    if memory_order is not MemoryOrder.WEAK and not op.is_ordered:
        raise OperandTypeError(
            f"{type(op).__name__} has no order among other accesses",
            span=place(),
            found=f"memory_order={memory_order}",
            expected="an operation that loads or stores: nvgpu.CopyUniversalOp, CopyG2ROp or CopyR2GOp",
            instead="no memory_order, and a barrier or cute.arch.fence_acq_rel_gpu() where others are to see it",
        )
    layouts = op.layouts(dtype, num_bits_per_copy)
    return CopyAtom(op, dtype, layouts, num_bits_per_copy, memory_order, memory_scope)
