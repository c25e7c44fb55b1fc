from triptych import compat

with compat.activated():
    try:
        from cutlass.cute.arch import sext_unpacked_i4_i8_intrinsic
    except ImportError:
        sext_unpacked_i4_i8_intrinsic = None
