"""Analyses of kernels for the passes and reports of the NVIDIA target."""
