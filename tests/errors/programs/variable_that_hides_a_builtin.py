"""A variable called like a function that is then called."""

import triptych as tt


@tt.jit
def count(n: tt.Int32):
    range = 5
    total = 0
    for i in range(n):  # error: TT0312 at "range(n)"
        total += i
    return total


count(3)
