"""A module handed on as a whole, which holds a library of thousands of classes."""

import types

import triptych as tt

library = types.ModuleType("library")
vars(library).update({f"Class{number}": type(f"Class{number}", (), {}) for number in range(5000)})
library.Class7.width = 3


@tt.jit
def count(x: tt.Int32, name: tt.Constexpr):
    # `getattr` may ask for any of them
    return x + getattr(library, name).width


count(1, "Class7")  # error: TT0316 at "count(1"
