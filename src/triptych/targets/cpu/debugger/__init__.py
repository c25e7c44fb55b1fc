"""Debugger of kernels on the CPU: which thread stops, its values, its frames, and the debugger that opens."""
