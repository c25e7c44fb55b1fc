"""Planted faults: pairs of programs, wrong and right, and what the checkers say of each."""
