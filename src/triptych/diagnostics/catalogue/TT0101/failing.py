import triptych as tt


@tt.jit
def f(x: tt.Int32):
    try:
        return x // 2
    except ZeroDivisionError:
        return 0


f(3)
