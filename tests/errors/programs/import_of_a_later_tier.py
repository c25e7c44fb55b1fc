from triptych import compat

with compat.activated():
    from cutlass.cute.arch import sext_unpacked_i4_i8_intrinsic  # error: TT0707 at "from cutlass"
