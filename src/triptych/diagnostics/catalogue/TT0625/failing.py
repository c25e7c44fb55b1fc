import triptych as tt


@tt.kernel
def k():
    pass


@tt.jit
def host(blocks: tt.Int32):
    k().launch(grid=blocks, block=1024, cooperative=True)


host(10_000)
