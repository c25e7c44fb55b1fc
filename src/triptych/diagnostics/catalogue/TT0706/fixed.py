from triptych import compat

with compat.activated():
    import cutlass.cute as cute

    print(hasattr(cute.arch, "prefetch"))
