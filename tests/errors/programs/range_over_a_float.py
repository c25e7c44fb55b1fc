import triptych as tt


@tt.jit
def count(x: tt.Float32):
    result = 0
    for i in range(x):  # error: TT0301 at "range(x)"
        result += 1
    return result


count(2.5)
