import functools

import triptych as tt


class Square:
    def __init__(self, side):
        self.side = side

    @functools.cached_property
    def area(self):
        return self.side * self.side


@tt.jit
def leak(n: tt.Int32):
    square = Square(n)
    if n > 0:
        n = square.area
    return n + square.area  # error: TT0208 at "n + square.area"


leak(3)
