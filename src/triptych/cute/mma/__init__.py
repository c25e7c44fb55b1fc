"""Meta-stage, matrix multiply-accumulate: atoms, tilings, operands, `gemm`."""
