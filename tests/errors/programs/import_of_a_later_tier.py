from triptych import compat

with compat.activated():
    from cutlass.cute.nvgpu.tcgen05 import make_umma_smem_desc  # error: TT0707 at "from cutlass"
