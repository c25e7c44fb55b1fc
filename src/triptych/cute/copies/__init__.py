"""Meta-stage, copies: atoms, tilings, operands, and how each kind of copy is emitted."""
