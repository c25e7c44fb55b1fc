import triptych as tt


@tt.jit
def text(n: tt.Int32):
    return n.to(str)  # error: TT0301 at "n.to(str)"


text(3)
