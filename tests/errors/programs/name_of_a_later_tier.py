from triptych import compat

with compat.activated():
    import cutlass.cute as cute

    group = cute.arch.sext_unpacked_i4_i8_intrinsic  # error: TT0706 at "cute.arch"
