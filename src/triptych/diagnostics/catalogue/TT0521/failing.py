import triptych as tt


@tt.jit
def both(x: tt.Int32, y: tt.Int32):
    return x + y, x - y


tt.compile(both, 1, 2, target="cpu").export_to_c(".", "both")
