import triptych as tt

# save the function in a .py file or a notebook cell, or only trace it:
exec("def f(x): return x + 1")
g = tt.jit(preprocessor=False)(f)
g(1)
