import triptych as tt


@tt.jit
def power(x: tt.Float32, n: tt.Constexpr):
    return x**n


@tt.jit
def polynomial(x: tt.Float32, n: tt.Int32):
    return power(x, n) + 1.0  # error: TT0207 at "power(x, n)"


polynomial(2.0, 3)
