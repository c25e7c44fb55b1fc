import triptych as tt


@tt.jit
def factorial(n: tt.Int32):
    product = 1
    for i in range(2, n + 1):
        product *= i
    return product


factorial(3)
