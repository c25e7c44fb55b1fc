from triptych import compat

with compat.activated():
    from cutlass.cute.arch import prefetch  # error: TT0707 at "from cutlass"
