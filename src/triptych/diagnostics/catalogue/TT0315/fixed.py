import triptych as tt


@tt.jit
def f(x: tt.Float64):
    whole: tt.Int32 = x.to(tt.Int32)
    return whole


f(2.75)
