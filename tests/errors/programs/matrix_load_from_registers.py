import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import warp


@tt.kernel
def load():
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=4), tt.Float16)
    source, target = (cute.make_rmem_tensor((8,), tt.Float16) for _ in range(2))
    cute.copy(atom, source, target)  # error: TT0942 at "cute.copy"


@tt.jit
def launch():
    load().launch(grid=1, block=32)


launch()
