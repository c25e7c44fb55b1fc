import triptych as tt


@tt.jit
def factorial(n: tt.Int32):
    return n * factorial(n - 1) if n > 1 else 1


factorial(3)
