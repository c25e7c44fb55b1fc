import triptych as tt
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
    k((1, 2, 4)).launch(grid=1, block=32)


f()
