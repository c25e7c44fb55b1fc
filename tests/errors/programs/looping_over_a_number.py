import triptych as tt


@tt.jit
def total(n: tt.Int32):
    result = 0
    for i in n:  # error: TT0301 at "n:"
        result += i
    return result


total(3)
