from triptych import compat

with compat.activated():
    try:
        from cutlass.cute.nvgpu.tcgen05 import CtaGroup
    except ImportError:
        CtaGroup = None
