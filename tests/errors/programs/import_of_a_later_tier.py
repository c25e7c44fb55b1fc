from triptych import compat

with compat.activated():
    from cutlass.cute.nvgpu.tcgen05 import Field  # error: TT0707 at "from cutlass"
