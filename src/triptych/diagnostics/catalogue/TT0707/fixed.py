from triptych import compat

with compat.activated():
    try:
        from cutlass.cute.nvgpu.tcgen05 import make_s2t_copy
    except ImportError:
        make_s2t_copy = None
