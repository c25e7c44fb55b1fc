"""Checkers of kernels on the CPU: native code that judges every access by the rules of the memory model."""
