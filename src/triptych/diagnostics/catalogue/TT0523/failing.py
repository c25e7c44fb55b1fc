import tempfile

import triptych as tt
from triptych import cute


@tt.jit
def quotient(x: tt.Int32, y: tt.Int32):
    return x // y


folder = tempfile.mkdtemp()
tt.compile(quotient, 4, 2, target="cpu").export_to_c(folder, "quotient")
module = cute.runtime.load_module(f"{folder}/quotient.o")

module.remainder(7, 2)
