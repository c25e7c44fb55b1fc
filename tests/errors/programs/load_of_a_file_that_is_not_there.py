from triptych import cute

cute.runtime.load_module("kernels/missing.o")  # error: TT0522 at "cute"
