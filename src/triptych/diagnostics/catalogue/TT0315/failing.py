import triptych as tt


@tt.jit
def f(x: tt.Float64):
    whole: tt.Int32 = x
    return whole


f(2.75)
