import triptych as tt


@tt.jit
def total(a: tt.Int32, b: tt.Int32):
    return sum(locals().values())  # error: TT0101 at "locals()"


total(1, 2)
