import triptych as tt


@tt.jit
def f(x: tt.Int32):
    return x + 1


# on the machine that builds it: `triptych build`; the frozen program reads that store, or loads exported objects
f(1)
