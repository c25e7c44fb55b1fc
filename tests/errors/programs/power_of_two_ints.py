import triptych as tt


@tt.jit
def power(base: tt.Int32, exponent: tt.Int32):
    return base**exponent  # error: TT0301 at "base**exponent"


power(2, 10)
