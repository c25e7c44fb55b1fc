import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import warp


@tt.kernel
def multiply():
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16)), (2, 2, 1))
    a = mma.make_fragment_A(mma.partition_shape_A((32, 16)))
    b = mma.make_fragment_B(mma.partition_shape_B((16, 16)))
    sums = mma.make_fragment_C(mma.partition_shape_C((32, 16)))
    cute.gemm(mma, sums, a, b, sums)  # error: TT0932 at "cute"


@tt.jit
def launch():
    multiply().launch(grid=1, block=64)


launch()
