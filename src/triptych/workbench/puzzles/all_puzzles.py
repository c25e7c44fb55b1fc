"""The puzzles in the order of their numbers."""

from __future__ import annotations

from triptych.workbench.puzzles.hardware import HARDWARE
from triptych.workbench.puzzles.sums import SUMS
from triptych.workbench.puzzles.threads import THREADS

PUZZLES = (*THREADS, *SUMS, *HARDWARE)
