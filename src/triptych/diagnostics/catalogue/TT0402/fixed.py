import triptych as tt


@tt.jit
def f(name: tt.Constexpr):
    return 1


f("relu")
