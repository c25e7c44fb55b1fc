import triptych as tt
from triptych.cute.nvgpu import warp


@tt.jit
def make():
    warp.MmaFP8Op(tt.Float8E4M3FN, tt.Float32, (16, 8, 16))  # error: TT0931 at "warp"


make()
