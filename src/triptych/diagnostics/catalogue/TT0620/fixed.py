import triptych as tt


@tt.kernel
def k():
    pass


@tt.jit
def host(threads: tt.Int32):
    k().launch(grid=2, block=threads)


host(1000)
