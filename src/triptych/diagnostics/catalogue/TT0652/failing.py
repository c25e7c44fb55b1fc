import pickle

import triptych as tt


@tt.jit
def f(x: tt.Int32):
    return x


pickle.dumps(tt.compile(f, 1))
