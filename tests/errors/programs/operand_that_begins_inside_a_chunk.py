import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import OperandMajorMode, warpgroup


@tt.kernel
def k() -> None:
    op = warpgroup.MmaF16BF16Op(
        tt.Float16, tt.Float32, (64, 8, 16), warpgroup.OperandSource.SMEM, OperandMajorMode.K, OperandMajorMode.K
    )
    mma = cute.make_tiled_mma(op)
    kind = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_INTER, tt.Float16)
    layout = cute.tile_to_shape(kind, (64, 64), (0, 1))
    smem = cute.SmemAllocator()
    smem.allocate(8)
    memory = smem.allocate_array(tt.Float16, cute.cosize(layout), 8)
    tensor = cute.make_tensor(memory, layout.outer)
    mma.make_fragment_A(mma.get_slice(0).partition_A(tensor))  # error: TT0936 at "mma"


@tt.jit
def f() -> None:
    k().launch(grid=1, block=128)


f()
