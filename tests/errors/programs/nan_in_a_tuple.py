import triptych as tt


@tt.jit
def is_one_of(x: tt.Float32, a: tt.Float32, b: tt.Float32):
    return x in (a, b)  # error: TT0613 at "x in (a, b)"


is_one_of(float("nan"), 1.0, float("nan"))
