"""Proofs about AMD's code."""
