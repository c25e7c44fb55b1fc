import triptych as tt

box = []


@tt.jit
def keep(n: tt.Int32):
    box.append(n)  # error: TT0208 at "box.append(n)"
    return n


keep(1)
