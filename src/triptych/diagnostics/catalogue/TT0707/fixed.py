from triptych import compat

with compat.activated():
    try:
        from cutlass.cute.nvgpu.tcgen05 import make_umma_smem_desc
    except ImportError:
        make_umma_smem_desc = None
