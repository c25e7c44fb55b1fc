"""The kernel language: layouts whose integers are run-time values."""

from __future__ import annotations

from triptych.cute.traced_integers import checked_layouts, realize, traced_int

__all__ = ["checked_layouts", "realize", "traced_int"]
