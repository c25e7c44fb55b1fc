"""A helper that cannot be compiled, with a condition that is known only at run time."""

import triptych as tt


def sign(n):
    try:
        return 1 if n > 0 else -1  # error: TT0207 at "n > 0"
    except ValueError:
        return 0


@tt.jit
def f(n: tt.Int32):
    return sign(n)


f(3)
