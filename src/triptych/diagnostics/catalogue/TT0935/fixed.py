import triptych as tt
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
    k(True).launch(grid=1, block=128)


f()
