import triptych as tt


@tt.jit
def f(name):
    return 1


f("relu")
