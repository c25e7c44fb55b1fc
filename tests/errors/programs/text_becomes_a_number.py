import triptych as tt


@tt.jit
def parse(n: tt.Int32):
    return n + tt.Int32("3")  # error: TT0301 at "tt.Int32("


parse(1)
