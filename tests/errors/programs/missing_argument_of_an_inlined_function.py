import triptych as tt


@tt.jit
def add(a: tt.Int32, b: tt.Int32):
    return a + b


@tt.jit
def outer(n: tt.Int32):
    return add(n)  # error: TT0401 at "add(n)"


outer(1)
