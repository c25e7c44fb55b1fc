import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync


@tt.jit
def copy():
    cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float16, num_bits_per_copy=16)  # error: TT0941 at "cute.make"


copy()
