import triptych as tt

print(tt.Int32.mlir_type)
