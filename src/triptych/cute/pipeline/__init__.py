"""Pipelines: circular buffers in shared memory and the barriers around them."""
