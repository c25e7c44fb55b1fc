import triptych as tt


@tt.jit
def host(n: tt.Int32):
    @tt.kernel
    def show(x: tt.Int32):
        tt.printf("%d", x + n)  # error: TT0208 at "x + n"

    show(1).launch(grid=1, block=32)


host(4)
