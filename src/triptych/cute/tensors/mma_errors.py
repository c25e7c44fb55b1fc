"""What can be wrong with matrix instructions and their operands, found while tracing."""

from __future__ import annotations

from triptych.cute.tracing.cute_errors import TensorError


class UnknownMatrixInstructionError(TensorError, ValueError):
    """Element types and a shape that no matrix instruction has."""

    code = "TT0931"
    failing = """
from triptych.cute.nvgpu import warp

warp.MmaF16BF16Op(tt.BFloat16, tt.Float16, (16, 8, 16))
"""
    fixed = """
from triptych.cute.nvgpu import warp

warp.MmaF16BF16Op(tt.BFloat16, tt.Float32, (16, 8, 16))
"""


class MatrixTilingError(TensorError, ValueError):
    """Matrix instructions are laid over threads or elements in a way that leaves some out or names some twice."""

    code = "TT0932"
    failing = """
from triptych import cute
from triptych.cute.nvgpu import warp

op = warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))
cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 8, 16))
"""
    fixed = """
from triptych import cute
from triptych.cute.nvgpu import warp

op = warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))
cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 16, 16))
"""


class MatrixOperandError(TensorError, ValueError):
    """An operand of a product whose extents, element type or memory do not fit the instruction or the others."""

    code = "TT0933"
    failing = """
from triptych import cute

@tt.jit
def f():
    mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(tt.Float32))
    a = cute.make_rmem_tensor((1, 4, 8), tt.Float32)
    b = cute.make_rmem_tensor((1, 2, 4), tt.Float32)
    sums = cute.make_rmem_tensor((1, 4, 2), tt.Float32)
    cute.gemm(mma, sums, a, b, sums)

f()
"""
    fixed = """
from triptych import cute

@tt.jit
def f():
    mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(tt.Float32))
    a = cute.make_rmem_tensor((1, 4, 8), tt.Float32)
    b = cute.make_rmem_tensor((1, 2, 8), tt.Float32)
    sums = cute.make_rmem_tensor((1, 4, 2), tt.Float32)
    a.fill(1.0)
    b.fill(1.0)
    sums.fill(0.0)
    cute.gemm(mma, sums, a, b, sums)

f()
"""


class RegisterPlaceError(TensorError, ValueError):
    """A fragment whose elements do not lie in registers as an instruction takes them, or not at a known place."""

    code = "TT0934"
    failing = """
from triptych import cute
from triptych.cute.nvgpu import warp

@tt.kernel
def k(strides: tt.Constexpr):
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16)))
    a = cute.make_rmem_tensor(cute.make_layout(((2, 2, 2),), stride=(strides,)), tt.Float16)
    b = cute.make_rmem_tensor(((2, 2),), tt.Float16)
    sums = cute.make_rmem_tensor(((2, 2),), tt.Float32)
    a.fill(1.0)
    b.fill(1.0)
    sums.fill(0.0)
    cute.gemm(mma, sums, a, b, sums)

@tt.jit
def f():
    k((4, 2, 1)).launch(grid=1, block=32)

f()
"""
    fixed = failing.replace("(4, 2, 1)", "(1, 2, 4)")


class UnsetFieldError(TensorError, RuntimeError):
    """A product by an operation that adds to D or begins anew, and nobody has said which."""

    code = "TT0935"
    failing = """
from triptych import cute
from triptych.cute.nvgpu import warpgroup

@tt.kernel
def k(says: tt.Constexpr):
    mode = cute.nvgpu.OperandMajorMode.K
    op = warpgroup.MmaF16BF16Op(tt.Float16, tt.Float32, (64, 8, 16), warpgroup.OperandSource.SMEM, mode, mode)
    mma = cute.make_tiled_mma(op)
    if says:
        mma.set(warpgroup.Field.ACCUMULATE, True)
    mma.get(warpgroup.Field.ACCUMULATE)

@tt.jit
def f():
    k(False).launch(grid=1, block=128)

f()
"""
    fixed = failing.replace("k(False)", "k(True)")


class SharedOperandError(TensorError, ValueError):
    """A matrix in shared memory that does not lie as the matrix instructions read it."""

    code = "TT0936"
    failing = """
from triptych import cute
from triptych.cute.nvgpu import warpgroup

@tt.kernel
def k(layout: tt.Constexpr):
    mode = cute.nvgpu.OperandMajorMode.K
    op = warpgroup.MmaF16BF16Op(tt.Float16, tt.Float32, (64, 8, 16), warpgroup.OperandSource.SMEM, mode, mode)
    mma = cute.make_tiled_mma(op)
    memory = cute.SmemAllocator().allocate_tensor(tt.Float16, layout.outer, 1024, layout.inner)
    mma.make_fragment_A(mma.get_slice(0).partition_A(memory))

@tt.jit
def f(order: tt.Constexpr):
    kind = warpgroup.SmemLayoutAtomKind.K_SW128 if order else warpgroup.SmemLayoutAtomKind.MN_SW128
    atom = warpgroup.make_smem_layout_atom(kind, tt.Float16)
    k(cute.tile_to_shape(atom, (64, 64), (0, 1))).launch(grid=1, block=128)

f(False)
"""
    fixed = failing.replace("f(False)", "f(True)")
