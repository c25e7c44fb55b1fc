from triptych import compat

with compat.activated():
    import cutlass.cute as cute

    print(cute.nvgpu.cpasync.CopyBulkTensorTileG2SNonExecTrait)
