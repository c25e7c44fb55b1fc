import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import OperandMajorMode, warpgroup


@tt.kernel
def k() -> None:
    op = warpgroup.MmaF16BF16Op(
        tt.Float16, tt.Float32, (64, 8, 16), warpgroup.OperandSource.SMEM, OperandMajorMode.K, OperandMajorMode.K
    )
    mma = cute.make_tiled_mma(op)
    kind = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.MN_SW128, tt.Float16)
    layout = cute.tile_to_shape(kind, (64, 16), (1, 0))
    memory = cute.SmemAllocator().allocate_tensor(tt.Float16, layout.outer, 1024, layout.inner)
    mma.make_fragment_A(mma.get_slice(0).partition_A(memory))  # error: TT0936 at "mma"


@tt.jit
def f() -> None:
    k().launch(grid=1, block=128)


f()
