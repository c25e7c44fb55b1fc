"""The driver, and kernels loaded into it."""
