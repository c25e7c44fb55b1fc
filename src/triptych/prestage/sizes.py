"""Size limits: how deep a row of operands or statements may nest in one scope before it is split."""

from __future__ import annotations

MOST_NESTED = 16
"""Early exits, `elif`s and lazy operands in a row that become regions inside each other: each takes seven frames of
Python's stack while tracing."""

MOST_TERMS = 64
"""Binary operators in a row that stay one expression: visitors, and Python's compiler, take a few frames for each."""

MOST_IN_A_SCOPE = 64
"""Branches and loops after each other that become functions in one scope: Python's compiler takes quadratic time."""
