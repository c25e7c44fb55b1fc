import triptych as tt


@tt.jit
def add(a, b):
    return a + b


tt.compile(add, 1, 2)(1, 2)
