import triptych as tt


class Counter:
    def __init__(self):
        self.value = 0


@tt.jit
def count(n: tt.Int32, counter: tt.Constexpr):
    if n > 0:
        counter.value = 1  # error: TT0205 at "counter.value"
    return n


count(3, Counter())
