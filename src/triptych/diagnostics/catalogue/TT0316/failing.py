import types

import triptych as tt

library = types.ModuleType("library")
vars(library).update({f"Class{number}": type(f"Class{number}", (), {}) for number in range(5000)})
library.Class7.width = 3


@tt.jit
def count(x: tt.Int32, name: tt.Constexpr):
    return x + getattr(library, name).width


count(1, "Class7")
