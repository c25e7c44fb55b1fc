"""Folders of kernels by version, and their devlog."""
