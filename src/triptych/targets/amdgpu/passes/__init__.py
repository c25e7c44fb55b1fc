"""Passes of the AMD target."""
