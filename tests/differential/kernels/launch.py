"""The shape of a generated launch."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tests.differential.choices import Choices
from tests.differential.kernels.program import Dims

MOST_THREADS = 640
"""Threads of a whole launch, because the reference runs them one by one in Python."""

BLOCKS_OF_ONE_DIMENSION = (32, 1, 2, 7, 16, 31, 33, 64, 40, 96, 100, 128, 256)
FLAT_BLOCKS = ((8, 4, 1), (4, 4, 2), (16, 2, 1), (5, 3, 1), (3, 5, 2), (32, 2, 1), (11, 3, 1), (1, 33, 1), (2, 1, 31))
LARGE_BLOCKS = ((512, 1, 1), (1024, 1, 1), (1000, 1, 1), (32, 32, 1))
GRIDS = ((1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 3, 2), (5, 1, 1))


@dataclass(frozen=True, slots=True)
class Launch:
    """Grid and block, and whether compiled code learns them only at run time."""

    grid: Dims
    block: Dims
    is_dynamic: bool

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return prod(self.block)

    @property
    def total(self) -> int:
        """Threads of the launch."""
        return self.threads * prod(self.grid)

    @property
    def has_whole_warps(self) -> bool:
        return self.threads % 32 == 0


def choose_launch(choices: Choices) -> Launch:
    """Decide a launch, mostly a small one."""
    if choices.boolean(0.03):
        block: Dims = choices.choice(LARGE_BLOCKS)
    elif choices.boolean(0.3):
        block = choices.choice(FLAT_BLOCKS)
    else:
        block = (choices.choice(BLOCKS_OF_ONE_DIMENSION), 1, 1)
    grid: Dims = choices.choice(GRIDS)
    while prod(grid) > 1 and prod(grid) * prod(block) > MOST_THREADS:
        grid = (prod(grid) - 1, 1, 1)
    return Launch(grid, block, choices.boolean(0.3))
