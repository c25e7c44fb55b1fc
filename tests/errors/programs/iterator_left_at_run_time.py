import triptych as tt


@tt.jit
def after(n: tt.Int32):
    numbers = iter((1, 2, 3, 4))
    for number in numbers:
        if number == n:
            break
    total = 0
    for number in numbers:  # error: TT0205 at "numbers"
        total += number
    return total


after(2)
