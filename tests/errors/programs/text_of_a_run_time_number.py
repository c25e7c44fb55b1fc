import triptych as tt


@tt.jit
def is_five(n: tt.Int32):
    return 1 if f"{n}" == "5" else 0  # error: TT0207 at "n}"


is_five(5)
