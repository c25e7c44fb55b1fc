"""Verification: numbers against float64, guards against results that are not computed, and a test of the tolerance."""
