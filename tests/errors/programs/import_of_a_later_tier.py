from triptych import compat

with compat.activated():
    from cutlass.cute.nvgpu.tcgen05 import make_s2t_copy  # error: TT0707 at "from cutlass"
