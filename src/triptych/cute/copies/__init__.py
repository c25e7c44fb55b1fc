"""Copies: atoms, tilings, operands, and how each kind of copy is emitted."""
