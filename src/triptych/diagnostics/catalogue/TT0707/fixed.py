from triptych import compat

with compat.activated():
    try:
        from cutlass.cute.arch import prefetch
    except ImportError:
        prefetch = None
