import triptych as tt


@tt.jit
def f(x: tt.Int32):
    return x + 1


# pip install torch-mlir
f(1)
