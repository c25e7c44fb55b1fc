import triptych as tt


@tt.jit
def f(n: tt.Constexpr):
    total = 0
    for i in tt.range_constexpr(n):
        total += i
    return total


f(3)
