import triptych as tt

box = []


@tt.jit
def keep(n: tt.Int32):
    box.append(n)
    return n


@tt.jit
def add(n: tt.Int32):
    return n + box[0]


keep(1)
add(2)  # error: TT0208 at "add("
