import triptych as tt


@tt.jit
def total(numbers):
    return numbers[0] + numbers[1]


compiled = tt.compile(total, [1, 2])
compiled([1, 2, 3])  # error: TT0602 at "compiled("
