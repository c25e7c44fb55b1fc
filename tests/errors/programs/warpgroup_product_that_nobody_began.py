import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import OperandMajorMode, warpgroup


@tt.kernel
def k() -> None:
    op = warpgroup.MmaF16BF16Op(
        tt.Float16, tt.Float32, (64, 8, 16), warpgroup.OperandSource.SMEM, OperandMajorMode.K, OperandMajorMode.K
    )
    mma = cute.make_tiled_mma(op)
    kind = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW32, tt.Float16)
    layout = cute.tile_to_shape(kind, (64, 16), (0, 1))
    memory = cute.SmemAllocator().allocate_tensor(tt.Float16, layout.outer, 1024, layout.inner)
    a = mma.make_fragment_A(mma.get_slice(0).partition_A(memory))
    b = mma.make_fragment_B(mma.get_slice(0).partition_B(cute.local_tile(memory, (8, 16), (0, 0))))
    sums = mma.make_fragment_C(mma.partition_shape_C((64, 8)))
    cute.gemm(mma, sums, a, b, sums)  # error: TT0935 at "cute"


@tt.jit
def f() -> None:
    k().launch(grid=1, block=128)


f()
