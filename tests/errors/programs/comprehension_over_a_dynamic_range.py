import triptych as tt


@tt.jit
def total(n: tt.Int32):
    return sum([i * i for i in range(n)])  # error: TT0207 at "[i * i", in newer Pythons at "range(n)"


total(3)
