import triptych as tt
from triptych import cute
from triptych.cute.runtime import make_ptr

make_ptr(tt.Float32, 4096, cute.AddressSpace.gmem, assumed_align=16)
