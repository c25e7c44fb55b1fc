"""Analyses of kernel IR: uniformity, affine lane values, addresses, spin loops, uninitialized registers."""
