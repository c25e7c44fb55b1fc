import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import warp

op = warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))
cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 16, 16))
