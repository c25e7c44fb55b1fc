"""Matrix multiply-accumulate: atoms, tilings, operands, `gemm`."""
