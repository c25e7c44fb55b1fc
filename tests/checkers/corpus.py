"""All pairs that are written by hand."""

from __future__ import annotations

from tests.checkers.copy_pairs import COPIES
from tests.checkers.edge_pairs import HALOS, MEETINGS, TILES, VECTORS
from tests.checkers.more_pairs import ATOMICS, BARRIERS, BOUNDS, BYTES, NAMED, UNSET
from tests.checkers.pairs import Pair
from tests.checkers.pipeline_pairs import PIPELINES
from tests.checkers.register_pairs import ACCUMULATORS, REGISTERS
from tests.checkers.suite_pairs import FENCES, GRAPHS, LOOPS, SCOPES
from tests.checkers.written_pairs import BETWEEN_WARPS, IN_A_WARP

PAIRS: tuple[Pair, ...] = (
    *(*BETWEEN_WARPS, *IN_A_WARP, *NAMED, *ATOMICS, *BYTES, *UNSET, *BOUNDS, *BARRIERS, *COPIES),
    *(*GRAPHS, *LOOPS, *SCOPES, *TILES, *HALOS, *VECTORS, *MEETINGS, *FENCES, *PIPELINES),
    *(*REGISTERS, *ACCUMULATORS),
)
