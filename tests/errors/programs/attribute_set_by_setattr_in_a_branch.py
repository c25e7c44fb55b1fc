import triptych as tt


class Counter:
    value = 0


@tt.jit
def count(n: tt.Int32, counter: tt.Constexpr):
    if n > 0:
        setattr(counter, "value", 1)  # error: TT0205 at "setattr"
    return n


count(3, Counter())
