import sys

import triptych as tt


@tt.jit
def f(x: tt.Int32):
    return x + 1


sys.frozen = True  # as PyInstaller sets it; the store is empty
f(1)
