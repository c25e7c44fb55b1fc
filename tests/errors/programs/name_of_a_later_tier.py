from triptych import compat

with compat.activated():
    import cutlass.cute as cute

    group = cute.nvgpu.cpasync.CopyBulkTensorTileG2SNonExecTrait  # error: TT0706 at "cute.nvgpu"
