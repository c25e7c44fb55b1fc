import triptych as tt
from triptych.cute.nvgpu import warp


@tt.jit
def load():
    warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=3)  # error: TT0941 at "warp"


load()
