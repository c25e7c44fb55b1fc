"""What lanes do together on AMD's chips, run by an OpenCL runtime and compared with NumPy.

    python -m benchmarks.amd_collectives             on chips with waves of 64, of 32, and with two warps in a wave

Votes, ballots, matches, elections, sums and shuffles of whole and of incomplete blocks, by the way of `amd_values`.
Sums are asked of whole waves only: lanes that are not there, which a chip lets take part, OpenCL does not have.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import triptych as tt
from benchmarks.amd_values import NAMES, target_of
from triptych import cute
from triptych.objectstage.target import TARGETS, TargetFamily
from triptych.support.config import override

CHIPS = ("gfx942", "gfx942:32", "gfx950", "gfx1100", "gfx1201")
BLOCKS = (1, 31, 32, 40, 64, 96, 100, 128, 256)
SEEDS = 2
ROWS = 16
_HALF = 1 << 32


@tt.kernel
def ask(x: cute.Tensor, out: cute.Tensor, limit: tt.Int32, whole: tt.Constexpr[bool]) -> None:
    thread, value = cute.arch.thread_idx()[0], x[cute.arch.thread_idx()[0]]
    above = value > limit
    out[0, thread] = cute.arch.vote_any_sync(above).to(tt.Int64)
    out[1, thread] = cute.arch.vote_all_sync(above).to(tt.Int64)
    out[2, thread] = cute.arch.vote_uni_sync(above).to(tt.Int64)
    out[3, thread] = cute.arch.vote_ballot_sync(above).to(tt.Int64)
    out[4, thread] = cute.arch.match_any_sync(value).to(tt.Int64)
    out[5, thread] = cute.arch.lane_idx().to(tt.Int64)
    with cute.arch.elect_one():
        out[6, thread] = tt.Int64(1)
    if tt.const_expr(whole):
        out[7, thread] = cute.arch.warp_redux_sync(value, "add").to(tt.Int64)
        out[8, thread] = cute.arch.warp_redux_sync(value, "min").to(tt.Int64)
        out[9, thread] = cute.arch.warp_redux_sync(value, "xor").to(tt.Int64)
    out[10, thread] = cute.arch.shuffle_sync_up(value, offset=3).to(tt.Int64)
    out[11, thread] = cute.arch.shuffle_sync_down(value, offset=1).to(tt.Int64)
    out[12, thread] = cute.arch.shuffle_sync_bfly(value, offset=5).to(tt.Int64)
    out[13, thread] = cute.arch.shuffle_sync_bfly(value, offset=16).to(tt.Int64)
    out[14, thread] = cute.arch.shuffle_sync(value, offset=3).to(tt.Int64)
    out[15, thread] = cute.arch.shuffle_sync(value, offset=thread * 7).to(tt.Int64)


@tt.jit
def run(x: cute.Tensor, out: cute.Tensor, limit: tt.Int32, whole: tt.Constexpr[bool]) -> None:
    ask(x, out, limit, whole).launch(grid=1, block=cute.size(x))


def expected(x: Any, limit: int, lanes: int, whole: bool, found: Any) -> Any:
    """What NumPy finds; where a lane reads one that is not there, anything is right."""
    wanted = np.zeros((ROWS, len(x)), np.int64)
    for begin in range(0, len(x), lanes):
        values = x[begin : begin + lanes]
        warp, lane, here = slice(begin, begin + len(values)), np.arange(len(values)), len(values)
        above = values > limit
        wanted[0:3, warp] = np.array([[above.any()], [above.all()], [above.all() or not above.any()]])
        wanted[3, warp] = mask_of(above, lanes)
        wanted[4, warp] = [mask_of(values == value, lanes) for value in values]
        wanted[5, warp] = lane
        wanted[6, begin] = 1
        if whole:
            wanted[7:10, warp] = np.array([[values.sum()], [values.min()], [np.bitwise_xor.reduce(values)]])
        sources = {
            10: np.where(lane >= 3, lane - 3, lane),
            11: np.where(lane + 1 < lanes, lane + 1, lane),
            12: lane ^ 5,
            13: lane ^ 16,
            14: lane * 0 + 3,
            15: (begin + lane) * 7 % lanes,
        }
        for row, source in sources.items():
            wanted[row, warp] = np.where(source < here, values[np.minimum(source, here - 1)], found[row, warp])
    return wanted


def mask_of(holds: Any, lanes: int) -> int:
    """A mask in as many bits, as a signed number."""
    mask = sum(1 << i for i, each in enumerate(holds) if each)
    return mask - (1 << lanes) if mask >> lanes - 1 else mask


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args(arguments)
    TARGETS.register("amdvalues", TargetFamily("amdvalues", NAMES, target_of))
    wrong = count = 0
    for chip in CHIPS:
        lanes = 64 if chip in ("gfx942", "gfx950") else 32
        for block in BLOCKS:
            for seed in range(SEEDS):
                draw = np.random.default_rng(seed)
                x, limit = draw.integers(-3, 4, block).astype(np.int32), int(draw.integers(-4, 4))
                out, whole = np.zeros((ROWS, block), np.int64), block % 64 == 0
                with override(target=f"amdvalues:{chip}", cache=False):
                    run(x, out, limit, whole)
                wanted = expected(x, limit, lanes, whole, out)
                rows = [row for row in range(ROWS) if (out[row] != wanted[row]).any()]
                count, wrong = count + 1, wrong + bool(rows)
                if rows:
                    print(f"{chip}, a block of {block}, seed {seed}: rows {rows} differ")
    print(f"{count - wrong} of {count} blocks right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
