from triptych import compat

with compat.activated():
    try:
        from cutlass.cute.nvgpu.tcgen05 import TmemLoadRedOp
    except ImportError:
        TmemLoadRedOp = None
