import triptych as tt

namespace = {"tt": tt}
exec("def double(n: tt.Int32):\n    return n * 2\n", namespace)

tt.jit(namespace["double"])(3)  # error: TT0102 at "tt.jit"
