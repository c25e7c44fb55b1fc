import triptych as tt


@tt.jit
def last(n: tt.Int32):
    for i in range(n):
        square = i * i
    return square  # error: TT0201 at "square"


last(3)
