import triptych as tt
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
