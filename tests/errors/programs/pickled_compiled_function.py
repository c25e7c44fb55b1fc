"""Machine code is sent to another process; what it was made of is what can be sent."""

import pickle

import triptych as tt


@tt.jit
def same(x: tt.Int32):
    return x


compiled = tt.compile(same, 1)
pickle.dumps(compiled)  # error: TT0652 at "pickle.dumps(compiled)"
