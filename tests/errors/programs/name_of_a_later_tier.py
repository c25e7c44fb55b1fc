from triptych import compat

with compat.activated():
    import cutlass.cute as cute

    group = cute.arch.prefetch  # error: TT0706 at "cute.arch"
