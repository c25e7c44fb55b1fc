from triptych import compat

with compat.activated():
    import cutlass.cute as cute

    group = cute.nvgpu.tcgen05.TmemLoadRedOp  # error: TT0706 at "cute.nvgpu"
