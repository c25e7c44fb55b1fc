from triptych import compat

with compat.activated():
    from cutlass.cute.nvgpu.warpgroup import Field  # error: TT0707 at "from cutlass"
