import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import warp


@tt.kernel
def multiply(steps: tt.Int32):
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16)))
    a = mma.make_fragment_A(mma.partition_shape_A((16, 64)))
    b = mma.make_fragment_B(mma.partition_shape_B((8, 64)))
    sums = mma.make_fragment_C(mma.partition_shape_C((16, 8)))
    for k in range(steps):
        cute.gemm(mma, sums, a[None, None, k], b[None, None, k], sums)  # error: TT0934 at "cute"


@tt.jit
def launch(steps: tt.Int32):
    multiply(steps).launch(grid=1, block=32)


launch(4)
