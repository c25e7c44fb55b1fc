"""Shadow memory layout: the words of a thread's state, the bits of a shadow cell, and a finding.

A cell stands for `grain` bytes of shared memory, the largest power of two that divides every access of the kernel. It
has one word for the last write and one for the last reads of each warp. A word is a stamp (the clock of the warp, 32
bits) and who and where. Clocks only grow, from block to block too, so that nothing is cleared between blocks.
"""

from __future__ import annotations

from triptych.kernel_ir.dialects.check import PASS_BLOCK as PASS_BLOCK

MOST_WARPS = 64
"""Of a block: 1024 threads in warps of 32, or in halves of them."""
NAMED, GENERATIONS = 16, 4
MOST_BLOCKS = 16
"""Of a cluster that is checked."""
OF_BLOCK = NAMED + 1
"""Barriers of a block of a cluster: the named ones, and that of the block itself."""
OF_CLUSTER = OF_BLOCK * MOST_BLOCKS
BARRIERS = OF_CLUSTER + 1
MOST_THREADS = 1024
"""Of a block, or of all blocks of a cluster."""
MOST_PHASES = 1024
"""Mbarriers of a block or a cluster."""
STORE_AGENT, WGMMA_AGENT, INIT_AGENT, TMEM_LOAD_AGENT, TMEM_STORE_AGENT, MBARRIER_AGENT = (
    MOST_WARPS * i for i in range(6)
)
MOST_AGENTS = MBARRIER_AGENT + MOST_PHASES
"""Who else accesses memory: the bulk stores, the products, and the loads and stores of tensor memory of each warp, and
what lands for an mbarrier. Those that
make mbarriers are there as well, once more for each warp, by its own clock: a relaxed arrival at the barrier of the
cluster releases mbarriers and nothing else. What a kernel does not have comes last, so that it costs nothing."""
ROW = MOST_THREADS + MOST_AGENTS
"""A time for each thread and for each other agent."""
JUNK = 0xCD
"""Bytes of shared memory when a block with mbarriers begins: what others left there may look like a barrier."""
PLACES = 64
"""Places in memory whose releases are kept."""

# the state of one thread of the pool: offsets in bytes
SHARED, SHARED_BYTES, TABLE, WRITES, READS, CELL_COUNT = (8 * i for i in range(6))
LANE_ROWS, RELEASES, PLACE_ROWS, CAPACITY = (8 * i for i in range(6, 10))
START, BLOCK_TIME, THREADS, WARPS, GRAIN, LANES, EPOCH, USES_CLOCKS = (80 + 4 * i for i in range(8))
BLOCK, MODE, PLACE_COUNT = 112, 124, 128
LOG, LOG_BYTES, LAST_WRITE, PENDING, QUEUE, COMMITTED = 136, 144, 152, 156, 160, 168
"""Reads that nobody has had to look at yet, and the block's time at the last write; asynchronous copies:
how many, which, and the groups that each thread has closed."""
LAST_READ = 176
"""The block's time when any warp last read cells."""
CLOCKS = 192
"""The clock of each warp."""
PASSED = CLOCKS + 4 * MOST_WARPS
"""Barriers of the block that each warp has passed."""
WAITS_FOR = PASSED + 4 * MOST_WARPS
"""The generation of the named barrier that each warp waits at, and that of the cluster's barrier."""
LAST_READS = WAITS_FOR + 8 * MOST_WARPS
"""The block's time when each warp last read cells."""
ARRIVED = LAST_READS + 4 * MOST_WARPS
GENERATION, BARRIER_SITES, EXPECTED = (ARRIVED + 4 * BARRIERS * i for i in range(1, 4))
"""For hints: the site that last came to each barrier, and one more; and how many threads it waits for."""
PLACE_KEYS = EXPECTED + 4 * BARRIERS
KNOWN = PLACE_KEYS + 8 * PLACES
"""For each pair of warps: the time before which all lanes of the first know everything of the second."""
KNOWN_ROW = MOST_WARPS + MOST_AGENTS
MEMO = KNOWN + 4 * MOST_WARPS * KNOWN_ROW
"""Reads whose memory was seen to be written in this block."""
MEMO_ENTRIES = 1 << 14
AGENT_TIME, AGENT_START, PHASE_COUNT, PHASE_ROWS = (MEMO + 8 * MEMO_ENTRIES + 8 * i for i in range(4))
"""The clock of all agents that are no threads, its time when the block began, and the block's mbarriers."""
PHASE_KEYS = PHASE_ROWS + 8
PHASE_PARITY = PHASE_KEYS + 8 * MOST_PHASES
AGENT_ISSUER = PHASE_PARITY + 4 * MOST_PHASES
"""The thread that last began something for a agent."""
HAS_READS = AGENT_ISSUER + 4 * MOST_AGENTS
"""Whether stores or products of a warp have read cells in this block."""
FENCED, FENCE_EPOCH = (HAS_READS + 4 * MOST_WARPS + 4 * MOST_THREADS * i for i in range(2))
"""Of each thread: its clock, and the block's time, when it last passed a fence between its stores and the others'."""
OPEN_GROUPS = 16
"""Groups whose ends are remembered."""
STORE_COUNT = FENCE_EPOCH + 4 * MOST_THREADS
STORE_ENDS = STORE_COUNT + 4 * MOST_THREADS
PRODUCT_COUNT = STORE_ENDS + 4 * OPEN_GROUPS * MOST_THREADS
PRODUCT_ENDS = PRODUCT_COUNT + 4 * MOST_WARPS
STORED = PRODUCT_ENDS + 4 * OPEN_GROUPS * MOST_WARPS
"""The last bulk store of each warp, as a word of a cell."""
STORE_OPEN = STORED + 8 * MOST_WARPS
"""Whether each thread has begun stores that are in no group yet."""
SERIAL = STORE_OPEN + 4 * MOST_THREADS
"""The number of the block in this process, so that blocks can be distinguished."""
OTHER_BLOCK, GLOBAL_GRAIN = SERIAL + 4, SERIAL + 8
"""While a finding is recorded: the block of the other side."""
ACQUIRED = SERIAL + 16
"""What the block has acquired of others, newest first."""
CALLS, HAS_CALLS = ACQUIRED + 8, ACQUIRED + 16
"""What each warp has done with the stages of pipelines, and whether this block has."""
TENSOR_CELLS, TENSOR_SLOT_COUNT = HAS_CALLS + 8, HAS_CALLS + 16
"""Of tensor memory: the words of all cells, and how many slots of those who read have been used."""
REFUSED = TENSOR_SLOT_COUNT + 8
"""The answer of launch control that was a refusal, as a word of a cell."""
STATE_BYTES = REFUSED + 8
TENSOR_SLOTS = 8
"""Warps of a block that can reach a cell."""
IN_TENSOR_MEMORY = 1 << 30
"""Of the place in a finding: not a byte of shared memory, but a cell of tensor memory."""
LOG_CAPACITY = 1 << 19

# reads in the log: offsets in bytes
ENTRY_BYTES, ENTRY_FORM, ENTRY_MASK, ENTRY_FIRST, ENTRY_WIDTH, ENTRY_SIZE, ENTRY_SITE = 0, 4, 8, 16, 20, 24, 28
ENTRY_BASE, ENTRY_STRIDE, ENTRY_KIND, ENTRY_LEVELS = 32, 40, 48, 56
IS_RUN, IS_REPEATED = 1, 2
"""Forms: lanes the same distance apart; reads that loops repeat."""
LEVELS = 3
"""Loops that one entry stands for: for each a step in bytes and a count, both `i64`."""
ENTRY_ADDRESSES = ENTRY_LEVELS + 16 * LEVELS
RELEASE_BYTES = 4 * ROW * BARRIERS * GENERATIONS

# an asynchronous copy: offsets in bytes
COPY_THREAD, COPY_GROUP, COPY_SIZE, COPY_BYTES, COPY_SITE, COPY_TARGET, COPY_SOURCE = 0, 4, 8, 12, 16, 24, 32
COPY_RECORD_BYTES = 40
MOST_COPIES = 1 << 16
PROXY = MOST_THREADS
"""Added to a thread's number: the agent that writes for it while it goes on."""
FIRST_AGENT = 2 * MOST_THREADS
"""The first number of a agent that is no thread; its times begin at `LAST_TIME`, later than all clocks."""

# a word of a cell
THREAD_BITS, SITE_BITS = 12, 18
THREAD_MASK, SITE_MASK = (1 << THREAD_BITS) - 1, (1 << SITE_BITS) - 1
SEVERAL, ATOMIC = 1 << THREAD_BITS + SITE_BITS, 1 << THREAD_BITS + SITE_BITS + 1
"""More lanes than the one that is named; by an atomic operation."""
LAST_TIME = 0xF0000000
"""A clock that comes here has run out."""
LAST_AGENT_TIME = 0xFE000000

# what an access does
READS_MEMORY, WRITES_MEMORY, IS_ATOMIC, IS_COLLECTIVE, IS_GLOBAL, IS_NARROW, OF_BARRIER = (1 << i for i in range(7))
"""The last two: an atomic operation that only threads of its own block see as one; a use of an mbarrier."""
# checkers, as bits of a launch's mode
CHECK_RACES, CHECK_INIT, HAS_AGENTS, CHECK_GLOBAL, COUNT_ARRIVALS = 1, 2, 4, 8, 16
OF_SHARED = CHECK_RACES | CHECK_INIT

# ways in which threads come to know of each other
MEET_WARP, ARRIVE, PASS_NAMED = 1, 2, 3
RELEASE_PLACE, ACQUIRE_PLACE = 4, 5
COMMIT_COPIES, AWAIT_COPIES = 6, 7
ARRIVE_RELAXED, FENCE_PROXY, LAND_COPIES = 8, 9, 10
COMMIT_STORES, AWAIT_STORES, COMMIT_PRODUCTS, AWAIT_PRODUCTS = 11, 12, 13, 14
COME_TO_SITE = 15
"""For hints: that they come, before what they come for."""
USE_TENSOR_LOADS = 16
"""Registers that loads from tensor memory have written."""
# what threads do with an mbarrier
MAKE_PHASE, USE_PHASE, ARRIVE_PHASE, PASS_PHASE = 0, 1, 2, 3
# what is done with columns of tensor memory: by warps to their lanes, then to all lanes
TENSOR_LOAD, TENSOR_STORE, TENSOR_PRODUCT, TENSOR_ALLOC, TENSOR_FREE, TENSOR_SCALES, TENSOR_OPERAND = range(7)

# calls of pipelines
PIPELINE_SIDES, STAGES = 16, 24
"""Producers and consumers of pipelines, and stages of one, that are looked at."""
CALLS_BYTES = 128
IS_GIVEN, IS_LOOSE, FIRST_PHASE = 1, 2, 2
"""Bits of a call: a stage is given on; it need not be, before it is taken again. Then the phase that a state begins
with and one more, 0 where that is not known."""
IS_STORES, IS_TAIL, HAS_GROUPS = 16, 32, 64
"""More of them: stages that bulk stores read; a wait for all of those; groups that take turns."""

# global memory: a page is 256 cells, in units of 16; a unit has what lanes side by side last wrote and last read
PAGE_BITS, UNIT_BITS = 10, 4
PAGE_KEY, PAGE_LOCK, PAGE_PHASE, PAGE_UNITS = 0, 8, 12, 64
"""The addresses that it stands for now, who holds it, and the first cell of its second unit."""
UNITS = (1 << PAGE_BITS - UNIT_BITS) + 1
UNIT_WRITE, UNIT_READ, UNIT_BYTES = 0, 16, 32
UNIT_WORD, UNIT_BLOCK, UNIT_FORM = 0, 8, 12
"""Of the last write and of the last read: a word without a thread, the block, and which thread has which cell."""
FORM_BITS = 4
BY_ONE, HAS_CELLS, IS_UNSEEN = 13, 14, 15
"""Low bits of a form: cells for each thread as a power of two; one thread for all; 16 cells of their own; no room."""
PAGE_BYTES = PAGE_UNITS + UNIT_BYTES * (UNITS + 1)
CELLS_OWNER, CELLS_LOCK, CELL_WRITES = 0, 8, 64
CELL_READS = CELL_WRITES + (8 << UNIT_BITS)
CELL_WRITERS = CELL_READS + (8 << UNIT_BITS)
CELL_READERS = CELL_WRITERS + (4 << UNIT_BITS)
CELLS_BYTES = CELL_READERS + (4 << UNIT_BITS)
SHADOW_LIMIT = 256 << 20
"""Bytes of all pages and cells."""
PAGE_SLOTS = 1 << 16
MOST_PAGES = PAGE_SLOTS // 2
MOST_CELLS = (SHADOW_LIMIT - MOST_PAGES * PAGE_BYTES) // CELLS_BYTES
NARROW_BLOCK, SEVERAL_BLOCKS, SERIAL_MASK = 0x80000000, 0x40000000, 0x3FFFFFFF
"""Bits beside a block's number: an operation that others do not see as atomic; blocks have read before this one."""
MANY_BLOCKS = 0x7FFFFFFF
"""In place of a block's number: more blocks than one."""
LAST_SERIAL = 1 << 29
"""A launch that begins later than this begins with the first number again."""
RELEASE_SLOTS, RELEASE_CAPACITY = 1 << 13, 64 << 20
MOST_STEPS = 1 << 20
"""Records that are looked at before an access counts as ordered."""

# findings
FINDING_BYTES, MOST_FINDINGS, EXAMPLES = 128, 512, 3
CROSSINGS = 120
"""Of a finding: how often its threads were of two warps."""
