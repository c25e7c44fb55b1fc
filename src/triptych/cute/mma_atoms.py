"""Meta-stage, matrix atoms: a product on a small tile, and how the tile is dealt out to the threads that compute it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from triptych.cute.nvgpu.universal_mma import MmaUniversalOp
from triptych.cute.nvgpu.warp.mma_operations import WarpMmaOp
from triptych.cute.static_expressions import StaticExpression
from triptych.cute.tensor_makers import make_fragment_like, make_rmem_tensor
from triptych.cute.tensors import Tensor
from triptych.layout import AnyLayout, ComposedLayout, IntTuple, Layout
from triptych.metastage.errors import OperandTypeError
from triptych.metastage.scalars import Float32, Numeric, TFloat32
from triptych.metastage.tracing import place
from triptych.support.warps import WARP

MmaOp = MmaUniversalOp | WarpMmaOp

_WARP = Layout(WARP, 1)
_ALONE = Layout(1, 0)
_ONE_VALUE = Layout((1, 1), (0, 0))


@dataclass(frozen=True, slots=True)
class MmaAtom(StaticExpression):
    """One product D = A * B + C on tiles A (m, k), B (n, k), C and D (m, n)."""

    op: MmaOp

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        """The extents M, N and K of one product."""
        return self.op.shape_mnk

    @property
    def thr_id(self) -> Layout:
        """The threads that compute it together."""
        return _WARP if isinstance(self.op, WarpMmaOp) else _ALONE

    @property
    def tv_layout_A(self) -> Layout:
        """(thread, value) -> m + M * k."""
        return self.op.instruction.tv_a if isinstance(self.op, WarpMmaOp) else _ONE_VALUE

    @property
    def tv_layout_B(self) -> Layout:
        """(thread, value) -> n + N * k."""
        return self.op.instruction.tv_b if isinstance(self.op, WarpMmaOp) else _ONE_VALUE

    @property
    def tv_layout_C(self) -> Layout:
        """(thread, value) -> m + M * n."""
        return self.op.instruction.tv_c if isinstance(self.op, WarpMmaOp) else _ONE_VALUE

    def make_fragment_A(self, source: Tensor | AnyLayout | IntTuple) -> Tensor:
        """Registers for a part of A: like a partition of it, or of the shape of one."""
        return _registers(source, _held(self.op.a_dtype, source))

    def make_fragment_B(self, source: Tensor | AnyLayout | IntTuple) -> Tensor:
        """Registers for a part of B."""
        return _registers(source, _held(self.op.b_dtype, source))

    def make_fragment_C(self, source: Tensor | AnyLayout | IntTuple) -> Tensor:
        """Registers for a part of the sums, whatever the type that memory holds."""
        return _registers(source, self.op.acc_dtype)

    def __str__(self) -> str:
        return str(self.op)

    __repr__ = __str__


def make_mma_atom(op: MmaOp) -> MmaAtom:
    """The atom of an operation."""
    if not isinstance(op, MmaUniversalOp | WarpMmaOp):
        raise OperandTypeError(
            "this is no matrix operation",
            span=place(),
            found=repr(op),
            expected="nvgpu.MmaUniversalOp(...) or an operation of nvgpu.warp",
        )
    return MmaAtom(op)


def _held(dtype: type[Numeric], source: Any) -> type[Numeric]:
    """Registers of TFloat32 are those of Float32: what is copied into them keeps its bits."""
    is_float32 = not isinstance(source, Tensor) or source.element_type is not TFloat32
    return Float32 if dtype is TFloat32 and is_float32 else dtype


def _registers(source: Tensor | AnyLayout | IntTuple, dtype: type[Numeric]) -> Tensor:
    if isinstance(source, Tensor | Layout | ComposedLayout):
        fragment: Tensor = make_fragment_like(source, dtype)
        return fragment
    return make_rmem_tensor(source, dtype)
