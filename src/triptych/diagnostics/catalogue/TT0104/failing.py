import triptych as tt


@tt.jit
def f(x: tt.Int32):
    def search(n):
        if n == 0:
            return x
        if x > n:
            if x > 2 * n:
                if x > 3 * n:
                    return search(n - 1)
        return n

    return search(60)


f(3)
