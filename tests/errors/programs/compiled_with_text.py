import triptych as tt


@tt.jit
def double(n: tt.Int32):
    return n * 2


compiled = tt.compile(double, 1)
compiled("three")  # error: TT0602 at "compiled("
