import types

import triptych as tt

library = types.ModuleType("library")
vars(library).update({f"Class{number}": type(f"Class{number}", (), {}) for number in range(5000)})
library.Class7.width = 3
chosen = library.Class7


@tt.jit
def count(x: tt.Int32):
    return x + chosen.width


count(1)
