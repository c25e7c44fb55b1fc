"""The puzzles in the order of their numbers."""

from __future__ import annotations

from triptych.workbench.puzzles.threads import THREADS

PUZZLES = (*THREADS,)
