import triptych as tt


def make():
    calls = 0

    @tt.jit
    def count(n: tt.Int32):
        nonlocal calls  # error: TT0101 at "nonlocal"
        calls += 1
        return n

    return count


make()(3)
