"""Where the checkers keep what they know: the words of a thread's state, the bits of a shadow cell, and a finding.

A cell stands for `grain` bytes of shared memory, the largest power of two that divides every access of the kernel. It
has one word for the last write and one for the last reads of each warp. A word is a stamp (the clock of the warp, 32
bits) and who and where. Clocks only grow, from block to block too, so that nothing is cleared between blocks.
"""

from __future__ import annotations

from triptych.simt.check_dialect import PASS_BLOCK as PASS_BLOCK

MOST_WARPS = 64
"""Of a block: 1024 threads in warps of 32, or in halves of them."""
BARRIERS, GENERATIONS = 16, 4
MOST_THREADS = 1024
PLACES = 64
"""Places in memory whose releases are kept."""

# the state of one thread of the pool: offsets in bytes
SHARED, SHARED_BYTES, TABLE, WRITES, READS, CELL_COUNT = (8 * i for i in range(6))
LANE_ROWS, RELEASES, PLACE_ROWS, CAPACITY = (8 * i for i in range(6, 10))
START, BLOCK_TIME, THREADS, WARPS, GRAIN, LANES, EPOCH, USES_CLOCKS = (80 + 4 * i for i in range(8))
BLOCK, MODE, PLACE_COUNT = 112, 124, 128
LOG, LOG_BYTES, LAST_WRITE, PENDING, QUEUE, COMMITTED = 136, 144, 152, 156, 160, 168
"""Reads that nobody has had to look at yet, and the block's time at the last write; copies that go on by themselves:
how many, which, and the groups that each thread has closed."""
CLOCKS = 192
"""The clock of each warp."""
PASSED = CLOCKS + 4 * MOST_WARPS
"""Barriers of the block that each warp has passed."""
WAITS_FOR = PASSED + 4 * MOST_WARPS
"""The generation of the named barrier that each warp waits at."""
LAST_READS = WAITS_FOR + 4 * MOST_WARPS
"""The block's time when each warp last read cells."""
ARRIVED = LAST_READS + 4 * MOST_WARPS
GENERATION = ARRIVED + 4 * BARRIERS
PLACE_KEYS = GENERATION + 4 * BARRIERS
KNOWN = PLACE_KEYS + 8 * PLACES
"""For each pair of warps: the time before which all lanes of the first know everything of the second."""
MEMO = KNOWN + 4 * MOST_WARPS * MOST_WARPS
"""Reads whose memory was seen to be written in this block."""
MEMO_ENTRIES = 1 << 14
STATE_BYTES = MEMO + 8 * MEMO_ENTRIES
LOG_ROOM = 1 << 19

# reads in the log: offsets in bytes
ENTRY_BYTES, ENTRY_FORM, ENTRY_MASK, ENTRY_FIRST, ENTRY_WIDTH, ENTRY_SIZE, ENTRY_SITE = 0, 4, 8, 16, 20, 24, 28
ENTRY_BASE, ENTRY_STRIDE, ENTRY_KIND, ENTRY_LEVELS = 32, 40, 48, 56
IS_RUN, IS_REPEATED = 1, 2
"""Forms: lanes the same distance apart; reads that loops repeat."""
LEVELS = 3
"""Loops that one entry stands for: for each a step in bytes and a count, both `i64`."""
ENTRY_ADDRESSES = ENTRY_LEVELS + 16 * LEVELS
RELEASE_BYTES = 4 * MOST_THREADS * BARRIERS * GENERATIONS

# a copy that goes on by itself: offsets in bytes
COPY_THREAD, COPY_GROUP, COPY_SIZE, COPY_BYTES, COPY_SITE, COPY_TARGET, COPY_SOURCE = 0, 4, 8, 12, 16, 24, 32
COPY_ROOM = 40
MOST_COPIES = 1 << 16
PROXY = MOST_THREADS
"""Added to a thread's number: the party that writes for it while it goes on."""

# a word of a cell
THREAD_BITS, SITE_BITS = 12, 18
THREAD_MASK, SITE_MASK = (1 << THREAD_BITS) - 1, (1 << SITE_BITS) - 1
SEVERAL, ATOMIC = 1 << THREAD_BITS + SITE_BITS, 1 << THREAD_BITS + SITE_BITS + 1
"""More lanes than the one that is named; by an atomic operation."""
LAST_TIME = 0xF0000000
"""A clock that comes here has run out."""

# what an access does
READS_MEMORY, WRITES_MEMORY, IS_ATOMIC, IS_COLLECTIVE = 1, 2, 4, 8
# checkers, as bits of a launch's mode
CHECK_RACES, CHECK_INIT = 1, 2

# ways in which threads come to know of each other
MEET_WARP, ARRIVE, PASS_NAMED = 1, 2, 3
RELEASE_PLACE, ACQUIRE_PLACE = 4, 5
COMMIT_COPIES, AWAIT_COPIES = 6, 7

# findings
FINDING_BYTES, MOST_FINDINGS, EXAMPLES = 128, 512, 3
CROSSINGS = 120
"""Of a finding: how often its threads were of two warps."""
