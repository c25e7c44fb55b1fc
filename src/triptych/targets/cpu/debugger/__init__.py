"""Threads of kernels that stop for a debugger: who stops, its values, its frames, and the debugger that opens."""
