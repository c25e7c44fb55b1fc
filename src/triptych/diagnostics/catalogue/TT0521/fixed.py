import tempfile

import triptych as tt


@tt.jit
def total(x: tt.Int32, y: tt.Int32):
    return x + y


tt.compile(total, 1, 2, target="cpu").export_to_c(tempfile.mkdtemp(), "total")
