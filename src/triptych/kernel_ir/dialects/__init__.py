"""Dialects of kernels: `simt`, `tile` and `check`, their traits, and instructions as layouts."""
