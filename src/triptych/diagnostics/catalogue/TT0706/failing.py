from triptych import compat

with compat.activated():
    import cutlass.cute as cute

    print(cute.arch.sext_unpacked_i4_i8_intrinsic)
