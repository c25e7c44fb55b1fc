"""Ahead-of-time export: object files for a linker, which run without Python, and what loads them."""
