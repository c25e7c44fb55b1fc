from triptych import compat

with compat.activated():
    from cutlass.cute.nvgpu.tcgen05 import TmemLoadRedOp  # error: TT0707 at "from cutlass"
