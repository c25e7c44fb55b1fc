from triptych import compat

with compat.activated():
    from cutlass.cute.arch import prefetch

    print(prefetch)
