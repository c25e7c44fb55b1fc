"""Kernel launches from traced host code: arguments, launch shape, shared memory."""
