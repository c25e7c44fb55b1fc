import triptych as tt


@tt.jit
def total(n: tt.Int32):
    result = 0
    for i in tt.range_constexpr(n):  # error: TT0207 at "tt.range_constexpr"
        result += i
    return result


total(3)
