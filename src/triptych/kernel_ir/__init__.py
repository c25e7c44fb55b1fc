"""Kernel IR: dialects, analyses and transforms that the language emits and every target reads."""
