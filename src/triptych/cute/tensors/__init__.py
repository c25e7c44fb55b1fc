"""Tensors: a pointer composed with a layout, how they are made, cut, asked and printed."""
