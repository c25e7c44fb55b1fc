"""The kernels that the fuzzer makes: what they contain, and that each of them has one right answer."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest

from tests.differential.choices import RandomChoices, ReplayedChoices
from tests.differential.constructs import constructs
from tests.differential.kernels.generator import SMALL, generate
from tests.differential.kernels.machine import run_reference
from tests.differential.kernels.program import KernelProgram

SEEDS = range(7_000, 7_400)
FOUND = (900_183, 900_353, 905_561, 7_634)
"""Seeds whose kernels once had an index beyond shared memory, or a race."""
CALLED = re.compile(r"cute\.arch\.(\w+)|\b(SmemAllocator|make_rmem_tensor|min|max|range_constexpr)\(")
WANTED = {
    *("if", "elif", "else", "for", "for/else", "while", "while/else", "while True", "nested loops"),
    *("break", "continue", "return in loop", "helper call", "IfExp", "And", "Or", "Not", "chained comparison"),
    *("Add", "Sub", "Mult", "FloorDiv", "Mod", "BitAnd", "BitOr", "BitXor", "LShift", "RShift", "USub", "Invert"),
    *("sync_threads", "shuffle_sync", "shuffle_sync_up", "shuffle_sync_down", "shuffle_sync_bfly"),
    *("vote_any_sync", "vote_all_sync", "vote_uni_sync", "vote_ballot_sync"),
    *("warp_reduction_sum", "warp_reduction_max", "warp_reduction_min", "popc", "sync_warp"),
    *("atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor"),
    *("SmemAllocator", "make_rmem_tensor", "min", "max", "range_constexpr"),
    *("a barrier in a loop", "a block that is not of whole warps", "a block of several dimensions", "several warps"),
}


@cache
def program_of(seed: int) -> KernelProgram:
    return generate(RandomChoices(seed))


def traits(program: KernelProgram) -> set[str]:
    x, y, z = program.block
    found = constructs(program.source) | {name for pair in CALLED.findall(program.source) for name in pair if name}
    claims = {
        "a barrier in a loop": re.search(r"^ {8,}cute\.arch\.sync_threads", program.source, re.MULTILINE),
        "a block that is not of whole warps": x * y * z % 32,
        "a block of several dimensions": y * z > 1,
        "several warps": x * y * z > 32,
    }
    return found | {name for name, holds in claims.items() if holds}


@cache
def usage() -> Counter[str]:
    return Counter(trait for seed in SEEDS for trait in traits(program_of(seed)))


@pytest.mark.parametrize("trait", sorted(WANTED))
def test_each_trait_occurs_in_at_least_one_kernel_of_a_hundred(trait: str) -> None:
    assert usage()[trait] >= len(SEEDS) // 100


def test_the_program_of_a_seed_is_always_the_same() -> None:
    for seed in SEEDS[:30]:
        choices = RandomChoices(seed)
        program = generate(choices)
        assert program == program_of(seed) == generate(ReplayedChoices(choices.record))


def test_the_simplest_decisions_make_a_simple_kernel() -> None:
    source = generate(ReplayedChoices([]), SMALL).source
    assert source.count("\n") < 20


def test_every_kernel_has_one_right_answer() -> None:
    """The reference refuses races, barriers that only some threads reach, and floats that are not exact."""
    idle = 0
    for seed in SEEDS[:40]:
        program = program_of(seed)
        after = run_reference(program, program.calls[0])
        idle += all((after[buffer.name] == buffer.array()).all() for buffer in program.buffers)
    assert idle < 6


@pytest.mark.parametrize("seed", FOUND)
def test_kernels_of_found_seeds_have_one_right_answer(seed: int) -> None:
    program = program_of(seed)
    for scalars in program.calls:
        run_reference(program, scalars)
