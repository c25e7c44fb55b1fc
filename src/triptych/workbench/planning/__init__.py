"""Tilings that know their limits, kernels with their tensors, and plans: a family of kernels with its command line."""
