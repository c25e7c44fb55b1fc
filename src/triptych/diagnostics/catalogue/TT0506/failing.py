import sys

import triptych as tt


@tt.jit
def f(x: tt.Int32):
    return x + 1


sys.modules["torch_mlir"] = None  # as after `pip uninstall torch-mlir`
f(1)
