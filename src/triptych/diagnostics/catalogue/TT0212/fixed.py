import triptych as tt


@tt.jit
def f(n: tt.Int32):
    print(tt.Int32.mlir_type)
    return n


f(3)
