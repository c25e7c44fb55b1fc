import triptych as tt

exec("def f(x): return x + 1")
g = tt.jit(f)
g(1)
