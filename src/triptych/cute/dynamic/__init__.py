"""Run-time integers in the layout algebra: symbols in, operations out."""
