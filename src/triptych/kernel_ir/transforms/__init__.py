"""Transforms of kernel IR that every target can run."""
