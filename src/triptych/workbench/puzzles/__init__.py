"""Puzzles: short files with a hole each, what fills it, hints, and a check that names the mistake; no GPU is needed."""
