import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import warp


@tt.kernel
def whole():
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16)))
    a, b = mma.make_fragment_A((8,)), mma.make_fragment_B((4,))
    sums = mma.make_fragment_C((4,))
    sums.fill(0.0)
    cute.gemm(mma, sums, a, b, sums)


@tt.jit
def run():
    whole().launch(grid=1, block=32)


run()
