import triptych as tt

calls = 0


@tt.jit
def count(n: tt.Int32):
    global calls  # error: TT0101 at "global"
    calls += 1
    return n


count(3)
