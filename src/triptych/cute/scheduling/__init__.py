"""Persistent kernels: blocks that stay and take one tile after the other, in an order that is part of the program."""
