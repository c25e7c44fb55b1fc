import triptych as tt


@tt.jit
def total(numbers):
    return numbers[0]


total([1, 2, 3])  # error: TT0402 at "total("
