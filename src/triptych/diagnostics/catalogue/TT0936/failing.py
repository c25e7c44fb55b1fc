import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import warpgroup


@tt.kernel
def k(layout: tt.Constexpr):
    mode = cute.nvgpu.OperandMajorMode.K
    op = warpgroup.MmaF16BF16Op(tt.Float16, tt.Float32, (64, 8, 16), warpgroup.OperandSource.SMEM, mode, mode)
    mma = cute.make_tiled_mma(op)
    memory = cute.SmemAllocator().allocate_tensor(tt.Float16, layout.outer, 1024, layout.inner)
    mma.make_fragment_A(mma.get_slice(0).partition_A(memory))


@tt.jit
def f(order: tt.Constexpr):
    kind = warpgroup.SmemLayoutAtomKind.K_SW128 if order else warpgroup.SmemLayoutAtomKind.MN_SW128
    atom = warpgroup.make_smem_layout_atom(kind, tt.Float16)
    k(cute.tile_to_shape(atom, (64, 64), (0, 1))).launch(grid=1, block=128)


f(False)
