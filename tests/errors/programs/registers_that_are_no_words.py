import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import warp


@tt.kernel
def load():
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=1), tt.Float16)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float16, (8,), 16)
    apart = cute.make_rmem_tensor(cute.make_layout((2,), stride=(4,)), tt.Float16)
    cute.copy(atom, shared, apart)  # error: TT0944 at "cute.copy"


@tt.jit
def launch():
    load().launch(grid=1, block=32)


launch()
