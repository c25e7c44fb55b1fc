import triptych as tt

box = []


@tt.jit
def f(n: tt.Int32):
    return n + box[0]


@tt.jit
def g(n: tt.Int32):
    box.append(n)
    return n


g(1)
f(2)
