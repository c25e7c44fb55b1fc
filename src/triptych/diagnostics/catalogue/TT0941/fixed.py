import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync

cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float16, num_bits_per_copy=128)
