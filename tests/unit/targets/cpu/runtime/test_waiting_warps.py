"""What is said of warps that wait for ever, by what they wait for."""

from __future__ import annotations

import pytest

from triptych.diagnostics.check_errors import pack
from triptych.diagnostics.kernel_errors import DeadlockError
from triptych.support.source import Span
from triptych.targets.cpu.abi.abi import WAITING_WORDS
from triptych.targets.cpu.runtime.launch_errors import WaitingWarp, deadlock

SPANS = [Span("kernel.py", line, 5, line, 30) for line in (10, 20)]


def told(*warps: WaitingWarp, total: int = 4) -> DeadlockError:
    sites = [{name: getattr(span, name) for name in span.__dataclass_fields__} for span in SPANS]
    facts = {
        "sites": sites,
        "partings": ["", "; threads diverge at line 7"],
        "looks": [False, False],
        "barriers": {"16": "Storage.full[2]"},
    }
    text = pack("nobody comes", tables=facts)
    words = [len(warps), 0, 0, 0, total, 0, 0]
    for warp in warps:
        words += [warp.warp, warp.site, warp.parity, warp.offset, warp.pending, warp.expected, warp.tx, warp.rank]
    return deadlock(text, words + [0] * (WAITING_WORDS - len(words)))


@pytest.mark.parametrize(
    ("pending", "expected", "tx", "found", "instead"),
    [
        (0, 1, 16, ": 16 bytes are missing", "16 of them never came"),
        (1, 1, -48, ": 1 of 1 arrival is missing and 48 bytes more came than were expected", "48 more than now"),
        (4, 4, 0, ": 4 of 4 arrivals are missing", "off by one"),
        (1, 4, 0, ": 1 of 4 arrivals is missing", "3 and not 4"),
        (0, 4, 1, ": 1 byte is missing", "as many bytes"),
    ],
)
def test_a_barrier_says_what_it_misses(pending: int, expected: int, tx: int, found: str, instead: str) -> None:
    error = told(WaitingWarp(2, 0, 1, 16, pending, expected, tx, 0))
    named = "warp 2 waits here for the phase of parity 1 of `Storage.full[2]` (byte 16 of shared memory) to end"
    assert error.found == named + found
    assert instead in error.instead
    assert error.span == SPANS[0]
    assert error.notes == ["3 warps of 4 have ended"]


def test_warps_that_wait_for_the_same_are_reported_of_together() -> None:
    shared = {"parity": -1, "offset": 0, "pending": 0, "expected": 0, "tx": 0}
    warps = [WaitingWarp(warp=i, site=int(i == 1), rank=0, **shared) for i in range(4)]
    other = WaitingWarp(0, 1, 0, 24, 2, 2, 0, 1)
    error = told(*warps, other, total=5)
    assert error.found == "warps 0, 2, 3 wait here"
    assert error.notes[0] == "warp 1 waits at line 20; threads diverge at line 7"
    assert error.notes[1].startswith(
        "warp 0 of block 1 of the cluster waits at line 20 for the phase of parity 0 of the"
    )
    assert told(*warps[2:]).found == "warps 2 to 3 wait here"
