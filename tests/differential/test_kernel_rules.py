"""The rules by which generated kernels touch memory: indices are in range, a cell has one owner between barriers."""

from __future__ import annotations

from itertools import product

import pytest

from tests.differential.choices import RandomChoices, ReplayedChoices
from tests.differential.kernels.expressions import Expressions
from tests.differential.kernels.launch import Launch
from tests.differential.kernels.machine import run_reference
from tests.differential.kernels.program import Buffer, KernelProgram
from tests.differential.kernels.scope import Kind, Level, Memory, Names, Scope, Tensor, Variable
from tests.differential.kernels.statements import Statements
from tests.differential.kernels.writer import Place

ALWAYS = 99
LAUNCHES = [Launch((blocks, 1, 1), (threads, 1, 1), False) for blocks, threads in product((1, 2, 3, 5), (1, 2, 3, 7))]
THREADS = 4
SHARED = [Tensor(name, Kind.INT32, (THREADS + more,)) for name, more in (("s0", 0), ("s1", 1), ("s2", 5))]


@pytest.mark.parametrize("launch", LAUNCHES, ids=lambda launch: f"{launch.grid[0]}x{launch.block[0]}")
def test_an_index_made_of_the_threads_number_is_in_every_extent(launch: Launch) -> None:
    """All decisions there are: which number, its factor, the constant."""
    for extent, name, factor, offset in product(range(1, 12), range(2), range(6), range(4)):
        choices = ReplayedChoices([ALWAYS, name, factor, offset])
        text = Expressions(choices, launch, Memory(), ()).index(extent, Scope(), 1, Level.THREAD)
        for gid in range(launch.total):
            index = eval(text, {"gid": gid, "tid": gid % launch.threads})
            assert 0 <= index < extent, f"{text} in {extent}, gid {gid}"


class Barriers(Statements):
    """Kernels of barriers alone, at which three shared tensors change hands."""

    def start(self, scope: Scope) -> None:
        for _ in range(3):
            self._barrier(scope, Place())


def kernel_of_barriers(seed: int) -> KernelProgram:
    choices, launch = RandomChoices(seed), Launch((1, 1, 1), (THREADS, 1, 1), False)
    memory, scope = Memory(shared=dict.fromkeys(SHARED)), Scope()
    scope.freeze(tid=Variable(Kind.INT32, Level.THREAD))
    expressions = Expressions(choices, launch, memory, ())
    writer = Barriers(choices, Names(), launch, memory, expressions, [Kind.INT32], 0)
    writer.start(scope)
    lines = ["tid = gid = lane = cute.arch.thread_idx()[0]"]
    for tensor in SHARED:
        size = tensor.shape[0]
        lines.append(f"{tensor.name} = SmemAllocator().allocate_tensor(Int32, cute.make_layout({size}))")
        lines.append(f"for at in range(tid, {size}, {THREADS}): {tensor.name}[at] = at")
    body = [*(f"    {line}" for line in lines), "    cute.arch.sync_threads()", *writer.lines]
    source = "\n".join(("@kernel", "def fuzzed(o):", *body, ""))
    return KernelProgram(source, launch.grid, launch.block, False, (Buffer("o", "Int32", (1,), (0,)),), (), ((),))


def test_what_is_written_after_a_barrier_reads_no_cell_that_another_thread_writes() -> None:
    """The reference refuses races."""
    for seed in range(200):
        run_reference(kernel_of_barriers(seed), ())
