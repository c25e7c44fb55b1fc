from triptych import compat

with compat.activated():
    import cutlass

    print(cutlass.__name__)
