"""Universal copies and products, which every GPU has and which need no instruction of their own, as objects."""

from __future__ import annotations

from typing import Any, ClassVar

from triptych.cute.copies.atoms import CopyAtom, CopyLayouts, CopyOperation
from triptych.cute.copies.dispatch import autovec_copy
from triptych.cute.memory.access import read, write
from triptych.cute.memory.hints import CacheEvictionPriority, LoadCacheMode, MemoryOrder, MemoryScope
from triptych.cute.mma.atoms import MmaOperands, MmaOperation, Operand
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import tracing
from triptych.layout import Layout
from triptych.metastage.values.scalars import Float32, Float64, Numeric
from triptych.support.dataclass import dataclass

__all__ = [
    "CacheEvictionPriority",
    "CopyG2ROp",
    "CopyLayouts",
    "CopyOperation",
    "CopyR2GOp",
    "CopyUniversalOp",
    "LoadCacheMode",
    "MemoryOrder",
    "MemoryScope",
    "PlainCopyOp",
]


class PlainCopyOp(CopyOperation):
    """A copy by loads and stores."""

    __slots__ = ()
    is_ordered: ClassVar[bool] = True
    is_divisible: ClassVar[bool] = True

    def emit(self, atom: CopyAtom, src: Tensor, dst: Tensor, index: int) -> None:
        """Loads and stores as wide as layouts and alignments allow."""
        autovec_copy(src.part((None, index)), dst.part((None, index)))


@dataclass(frozen=True, slots=True)
class CopyUniversalOp(PlainCopyOp):
    """An assignment between any two memories."""


@dataclass(frozen=True, slots=True)
class CopyG2ROp(PlainCopyOp):
    """A load from global memory into registers."""

    cache_mode: LoadCacheMode = LoadCacheMode.ALWAYS

    @property
    def load_cache_mode(self) -> LoadCacheMode:
        """As the program says."""
        return self.cache_mode


@dataclass(frozen=True, slots=True)
class CopyR2GOp(PlainCopyOp):
    """A store from registers into global memory."""


_ONE_THREAD = Layout(1, 0)
_ONE_VALUE = Layout((1, 1), (0, 0))


@dataclass(frozen=True, slots=True)
class MmaUniversalOp(MmaOperation):
    """d = a * b + c of numbers of one type; Float32 and Float64 are rounded once."""

    abacc_dtype: type[Numeric]

    @property
    def a_dtype(self) -> type[Numeric]:
        """The type of the elements of A."""
        return self.abacc_dtype

    @property
    def b_dtype(self) -> type[Numeric]:
        """The type of the elements of B."""
        return self.abacc_dtype

    @property
    def acc_dtype(self) -> type[Numeric]:
        """The type of the elements of C and D."""
        return self.abacc_dtype

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        """The extents M, N and K: one number of each."""
        return 1, 1, 1

    @property
    def threads(self) -> Layout:
        """A thread alone."""
        return _ONE_THREAD

    @property
    def tv_layout_A(self) -> Layout:
        """One value."""
        return _ONE_VALUE

    @property
    def tv_layout_B(self) -> Layout:
        """One value."""
        return _ONE_VALUE

    @property
    def tv_layout_C(self) -> Layout:
        """One value."""
        return _ONE_VALUE

    def emit(self, product: MmaOperands) -> None:
        """A multiply-add for each number."""
        _multiply_numbers(self.abacc_dtype, product)

    def __str__(self) -> str:
        return f"MmaUniversalOp<{self.abacc_dtype.__name__}>"

    __repr__ = __str__


def _multiply_numbers(dtype: type[Numeric], product: MmaOperands) -> None:
    """k is outermost; each sum is read once and written once."""
    rows, columns, depth = product.tiles
    where = [(m, n) for n in range(columns) for m in range(rows)]
    sums = {(m, n): _read(product.c, m, n) for m, n in where}
    for k in range(depth):
        a = [_read(product.a, m, k) for m in range(rows)]
        b = [_read(product.b, n, k) for n in range(columns)]
        for m, n in where:
            sums[m, n] = _multiply_add(dtype, a[m], b[n], sums[m, n])
    for (m, n), value in sums.items():
        write(product.d.tensor.pointer, product.d.offset(m, n), value.ir_value(), product.d.tensor)


def _read(operand: Operand, first: int, second: int) -> Numeric:
    value = read(operand.tensor.pointer, operand.offset(first, second), operand.tensor)
    return operand.dtype.of(value, tracing().region)


def _multiply_add(dtype: type[Numeric], a: Numeric, b: Numeric, c: Numeric) -> Any:
    if dtype not in (Float32, Float64):
        return (a * b + c).to(dtype)
    trace = tracing()
    value = trace.value("math.fma", (a.ir_value(), b.ir_value(), c.ir_value()), dtype.info.mlir)
    return dtype.of(value, trace.region)
