"""Meta-stage, small tensors as values: vectors in registers with a shape."""
