import triptych as tt


@tt.jit
def total(n: tt.Int32):
    result = 0
    for i in range(n):
        result = result + 0.5  # error: TT0203 at "result = "
    return result


total(4)
