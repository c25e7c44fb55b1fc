import triptych as tt
from triptych.cute.nvgpu import warp

warp.MmaF16BF16Op(tt.BFloat16, tt.Float32, (16, 8, 16))
