"""Differential testing of kernels: generated kernels on which a slow reference machine and compiled code must agree."""
