import tempfile

import triptych as tt
from triptych import cute


@tt.jit
def quotient(x: tt.Int32, y: tt.Int32):
    return x // y


with tempfile.TemporaryDirectory() as folder:
    tt.compile(quotient, 4, 2).export_to_c(folder, "quotient")
    module = cute.runtime.load_module(f"{folder}/quotient.o")
module.remainder(7, 2)  # error: TT0523 at "module"
