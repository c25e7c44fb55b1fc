import triptych as tt


@tt.jit
def factorial(n: tt.Int32):
    return 1 if n <= 1 else n * factorial(n - 1)  # error: TT0209 at "factorial(n - 1)"


factorial(3)
