"""Ways in which threads of a block hand values to each other, each ordered as a whole: pieces of generated kernels.

Every function writes lines that begin and end with nothing pending, on shared memory of their own; `v` is a number of
the thread, `t` its place in the block, `x` a tensor of at least four times as many floats as there are threads.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.differential.choices import Choices

Exchange = Callable[[Choices, int], list[str]]
_WARP = 32


def _shared(name: str, dtype: str, count: int) -> str:
    return f"{name} = allocator.allocate_tensor({dtype}, cute.make_layout({count}), 16)"


def tree(choices: Choices, threads: int) -> list[str]:
    """A sum by halves."""
    most = 1 << (threads.bit_length() - 1)
    return [
        _shared("tree", "Int32", threads),
        "tree[t] = v",
        "cute.arch.sync_threads()",
        f"n = Int32({most // 2})",
        "while n > 0:",
        "    if t < n:",
        "        tree[t] = tree[t] + tree[t + n]",
        "    cute.arch.sync_threads()",
        "    n = n // 2",
        "v = v + tree[0]",
    ]


def scan(choices: Choices, threads: int) -> list[str]:
    """A prefix by doubling, with two buffers in turn."""
    return [
        _shared("scan", "Int32", 2 * threads),
        "scan[t] = v",
        "cute.arch.sync_threads()",
        f"for i in range({choices.integer(1, 5)}):",
        f"    here = (i % 2) * {threads}",
        "    w = scan[here + t]",
        "    if t >= (1 << i):",
        "        w = w + scan[here + t - (1 << i)]",
        f"    scan[{threads} - here + t] = w",
        "    cute.arch.sync_threads()",
        "    v = v + w",
    ]


def histogram(choices: Choices, threads: int) -> list[str]:
    """Counters that one thread clears, all add to, and all read."""
    cells = choices.integer(1, 7)
    return [
        _shared("counts", "Int32", cells),
        f"if t < {min(cells, threads)}:",
        "    counts[t] = 0",
        *(
            [f"if t == 0:\n        for i in range({threads}, {cells}):\n            counts[i] = 0"]
            if cells > threads
            else []
        ),
        "cute.arch.sync_threads()",
        f"cute.arch.atomic_add(counts.iterator + (v * v) % {cells}, Int32(1))",
        "cute.arch.sync_threads()",
        f"v = v + counts[t % {cells}]",
    ]


def ring(choices: Choices, threads: int) -> list[str]:
    """A warp fills stages, the others read them: named barriers that one side arrives at and the other waits for."""
    if threads % _WARP or threads < 2 * _WARP:
        return tree(choices, threads)
    stages, rounds = choices.integer(1, 3), choices.integer(1, 5)
    full = f"barrier_id=1 + i % {stages}, number_of_threads={threads}"
    empty = f"barrier_id={stages + 1} + i % {stages}, number_of_threads={threads}"
    return [
        _shared("ring", "Float32", stages * _WARP),
        f"if t < {_WARP}:",
        f"    for i in range({rounds}):",
        f"        if i >= {stages}:",
        f"            cute.arch.barrier({empty})",
        f"        ring[i % {stages} * 32 + t] = x[(i * 32 + t) % {threads}]",
        f"        cute.arch.barrier_arrive({full})",
        "else:",
        f"    for i in range({rounds}):",
        f"        cute.arch.barrier({full})",
        f"        v = v + Int32(ring[i % {stages} * 32 + (t * {choices.choice((1, 3, 31))}) % 32])",
        f"        if i + {stages} < {rounds}:",
        f"            cute.arch.barrier_arrive({empty})",
        "cute.arch.sync_threads()",
    ]


def flag(choices: Choices, threads: int) -> list[str]:
    """A warp writes, one of its lanes releases; a thread of another warp acquires and reads."""
    if threads % _WARP or threads < 2 * _WARP:
        return histogram(choices, threads)
    fenced = choices.boolean(0.5)
    release = [
        "        cute.arch.fence_acq_rel_cta()",
        "        cute.arch.atomic_exch(ready.iterator, Int32(1))",
    ]
    wait = "cute.arch.atomic_add(ready.iterator, Int32(0)) == 0"
    if not fenced:
        release = ['        cute.arch.atomic_exch(ready.iterator, Int32(1), sem="release")']
        wait = 'cute.arch.atomic_add(ready.iterator, Int32(0), sem="acquire") == 0'
    return [
        _shared("passed", "Int32", _WARP),
        _shared("ready", "Int32", 1),
        "if t == 0:",
        "    ready[0] = 0",
        "cute.arch.sync_threads()",
        f"if t < {_WARP}:",
        "    passed[31 - t] = v",
        "    cute.arch.sync_warp()",
        f"    if t == {choices.choice((0, 31, 7))}:",
        *release,
        f"if t == {threads - 1}:",
        f"    while {wait}:",
        "        pass",
        *(["    cute.arch.fence_acq_rel_cta()"] if fenced else []),
        "    for i in range(32):",
        "        v = v + passed[i]",
        "cute.arch.sync_threads()",
    ]


def copies(choices: Choices, threads: int) -> list[str]:
    """Copies that go on by themselves, in stages."""
    stages = choices.integer(1, 3)
    rounds = 4
    begin = [
        "cute.copy(atom, cute.local_tile(x, (1,), (PLACE * {n} + t,)), "
        "cute.local_tile(kept, (1,), (PLACE % {s} * {n} + t,)))",
        "cute.arch.cp_async_commit_group()",
    ]
    issue = [line.format(n=threads, s=stages) for line in begin]
    first = [line.replace("PLACE", str(stage)) for stage in range(stages - 1) for line in issue]
    ahead = [f"        {line.replace('PLACE', f'(i + {stages - 1})')}" for line in issue[:1]]
    return [
        "atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)",
        _shared("kept", "Float32", stages * threads),
        *first,
        f"for i in range({rounds}):",
        f"    if i + {stages - 1} < {rounds}:",
        *ahead,
        "    cute.arch.cp_async_commit_group()",
        f"    cute.arch.cp_async_wait_group({stages - 1})",
        "    cute.arch.sync_threads()",
        f"    v = v + Int32(kept[i % {stages} * {threads} + {threads - 1} - t])",
        "    cute.arch.sync_threads()",
        "cute.arch.cp_async_wait_group(0)",
    ]


def halves(choices: Choices, threads: int) -> list[str]:
    """The halves of a warp, each with a mask of its own."""
    if threads % _WARP:
        return scan(choices, threads)
    return [
        _shared("halves", "Int32", threads),
        "halves[t] = v",
        "if t % 32 < 16:",
        "    cute.arch.sync_warp(0xFFFF)",
        f"    v = v + halves[t ^ {choices.choice((1, 8, 15))}]",
        "else:",
        "    cute.arch.sync_warp(0xFFFF0000)",
        f"    v = v + halves[t ^ {choices.choice((1, 8, 15))}]",
        "cute.arch.sync_threads()",
    ]


def words(choices: Choices, threads: int) -> list[str]:
    """Bytes that each thread writes, read as words by others."""
    count = (threads + 3) // 4 * 4
    return [
        _shared("octets", "Int8", count),
        f"for i in range(t, {count}, {threads}):",
        "    octets[i] = Int8(v % 100)",
        "cute.arch.sync_threads()",
        f"quads = cute.make_tensor(cute.recast_ptr(octets.iterator, dtype=Int32), cute.make_layout({count // 4}))",
        f"v = v + quads[t % {count // 4}] % 1000",
    ]


def vectors(choices: Choices, threads: int) -> list[str]:
    """Four numbers at a time, read one by one."""
    return [
        _shared("fours", "Float32", 4 * threads),
        "four = cute.make_rmem_tensor(4, Float32)",
        "for i in range(4):",
        "    four[i] = x[t * 4 + i]",
        "cute.autovec_copy(four, cute.local_tile(fours, (4,), (t,)))",
        "cute.arch.sync_threads()",
        "for i in range(4):",
        f"    v = v + Int32(fours[(i * {threads} + t) % {4 * threads}])",
    ]


def groups(choices: Choices, threads: int) -> list[str]:
    """Groups of two warps, each with a barrier of its own."""
    if threads % (2 * _WARP):
        return words(choices, threads)
    return [
        _shared("groups", "Int32", threads),
        f"for i in range({choices.integer(1, 3)}):",
        "    groups[t] = v",
        "    cute.arch.barrier(barrier_id=1 + t // 64, number_of_threads=64)",
        f"    v = v + groups[t ^ {choices.choice((32, 33, 63))}]",
        "    cute.arch.barrier(barrier_id=1 + t // 64, number_of_threads=64)",
    ]


EXCHANGES: tuple[Exchange, ...] = (tree, scan, histogram, ring, flag, copies, halves, words, vectors, groups)
