"""How many threads are a warp: what programs, layouts of instructions and every target count with."""

from __future__ import annotations

WARP = 32
ALL_LANES = (1 << WARP) - 1
"""A mask with a bit for each lane."""
