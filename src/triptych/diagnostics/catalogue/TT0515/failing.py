import triptych as tt


@tt.kernel
def nothing() -> None:
    pass


@tt.jit
def f() -> None:
    nothing().launch(grid=1, block=1, stream="the first one")


f()
