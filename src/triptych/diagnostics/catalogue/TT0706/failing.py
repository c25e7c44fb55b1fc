from triptych import compat

with compat.activated():
    import cutlass.cute as cute

    print(cute.arch.prefetch)
