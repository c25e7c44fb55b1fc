import triptych as tt


@tt.jit
def remember(n: tt.Int32):
    table = {"n": 0}
    if n > 0:
        table["n"] = n  # error: TT0205 at "table["
    return table["n"]


remember(3)
