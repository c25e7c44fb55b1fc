"""Persistent kernels: blocks that stay and process one tile after the other, in an order that the program chooses."""
