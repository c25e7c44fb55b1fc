import triptych as tt


@tt.jit
def doubled(numbers):
    numbers[0] = 2 * numbers[0]  # error: TT0205 at "numbers[0]"
    return numbers[0]


doubled([1, 2, 3])
