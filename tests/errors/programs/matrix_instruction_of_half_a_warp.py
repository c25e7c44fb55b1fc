import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import warp


@tt.kernel
def work():
    thread, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16)))
    a, b, sums = mma.make_fragment_A((8,)), mma.make_fragment_B((4,)), mma.make_fragment_C((4,))
    a.fill(1.0)
    b.fill(1.0)
    sums.fill(0.0)
    if thread < 16:
        cute.gemm(mma, sums, a, b, sums)  # error: TT0623 at "cute"


@tt.jit
def host():
    work().launch(grid=1, block=32)


host()
