import triptych as tt


@tt.jit
def f(x: tt.Int32):
    return x


print(tt.compile(f, 1, target="cpu").asm)
