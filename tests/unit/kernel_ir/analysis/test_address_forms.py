"""`simt.addresses`: addresses as sums. Equal sums but for a number are a known distance apart."""

from __future__ import annotations

import pytest

from tests.unit.kernel_ir.kernels import kernel
from triptych.kernel_ir.analysis.addresses import Address, AddressForms
from triptych.kernel_ir.dialects.kernel_operations import walk

TYPES = "(!llvm.ptr<1>, i64) -> !llvm.ptr<1>"


def at(name: str, index: str, kind: str = "f32", base: str = "%p", width: str = "i64") -> str:
    types = f"(!llvm.ptr<1>, {width})" if index.startswith("%") else "(!llvm.ptr<1>)"
    return f"{name} = llvm.getelementptr {base}[{index}] : {types} -> !llvm.ptr<1>, {kind}\n"


def addresses(text: str) -> list[Address]:
    """Of all addresses that are computed in a kernel."""
    function, _module = kernel(text)
    forms = AddressForms()
    return [forms.address(found.results[0]) for found in walk(function) if found.name == "llvm.getelementptr"]


def distance(text: str) -> int | None:
    """Bytes from the first computed address to the last; None if they differ by more than a number."""
    first, *_, last = addresses(text)
    alike = (first.memory, first.terms) == (last.memory, last.terms)
    return last.known - first.known if alike else None


WIDE = "%e = arith.extsi %n : i32 to i64\n%one = arith.constant 1 : i64\n%five = arith.constant 5 : i64\n"


@pytest.mark.parametrize(
    ("text", "bytes_apart"),
    [
        (at("%x", "0") + at("%y", "3"), 12),
        (at("%x", "0", "i8") + at("%y", "3", "f64"), 24),
        (at("%x", "2") + at("%y", "2", base="%x"), 8),
        (at("%x", "2") + at("%y", "-2", base="%x"), -8),
        (WIDE + at("%x", "%e") + at("%y", "%e"), 0),
        (WIDE + "%s = arith.addi %e, %five : i64\n" + at("%x", "%e") + at("%y", "%s"), 20),
        (WIDE + "%s = arith.addi %five, %e : i64\n" + at("%x", "%e") + at("%y", "%s"), 20),
        (WIDE + "%s = arith.subi %e, %five : i64\n" + at("%x", "%e") + at("%y", "%s"), -20),
        (WIDE + "%s = arith.subi %five, %e : i64\n" + at("%x", "%e") + at("%y", "%s"), None),
        (WIDE + "%s = arith.muli %e, %five : i64\n" + at("%x", "%e", "vector<5xf32>") + at("%y", "%s"), 0),
        (WIDE + "%s = arith.muli %five, %e : i64\n" + at("%x", "%e", "vector<5xf32>") + at("%y", "%s"), 0),
        (WIDE + "%s = arith.muli %e, %e : i64\n" + at("%x", "%e") + at("%y", "%s"), None),
        (
            WIDE
            + "%s = arith.addi %e, %one : i64\n%m = arith.muli %s, %five : i64\n%r = arith.muli %e, %five : i64\n"
            + at("%x", "%r")
            + at("%y", "%m"),
            20,
        ),
        (
            WIDE + "%a = arith.muli %e, %e : i64\n%b2 = arith.muli %e, %e : i64\n" + at("%x", "%a") + at("%y", "%b2"),
            0,
        ),
        (
            "%s = arith.addi %n, %c1 : i32\n%e = arith.extsi %n : i32 to i64\n%f = arith.extsi %s : i32 to i64\n"
            + at("%x", "%e")
            + at("%y", "%f"),
            4,
        ),
        (
            "%s = arith.addi %n, %c1 : i32\n%e = arith.extui %n : i32 to i64\n%f = arith.extui %s : i32 to i64\n"
            + at("%x", "%e")
            + at("%y", "%f"),
            None,
        ),
        (
            "%h = arith.trunci %n : i32 to i16\n%k = arith.constant 1 : i16\n%s = arith.addi %h, %k : i16\n"
            "%e = arith.extsi %h : i16 to i64\n%f = arith.extsi %s : i16 to i64\n" + at("%x", "%e") + at("%y", "%f"),
            None,
        ),
        (WIDE + "%z = arith.subi %e, %e : i64\n" + at("%x", "%z") + at("%y", "0"), 0),
        (at("%x", "%n", width="i32") + at("%y", "%t", width="i32"), None),
    ],
)
def test_distances(text: str, bytes_apart: int | None) -> None:
    assert distance(text) == bytes_apart


def test_times_count_bytes() -> None:
    (found,) = addresses("%m = arith.muli %n, %c16 : i32\n" + at("%x", "%m", "f64", width="i32"))
    assert [times for _, times in found.terms] == [128]
    (found,) = addresses("%m = arith.addi %n, %n : i32\n" + at("%x", "%m", width="i32"))
    assert [times for _, times in found.terms] == [8]


@pytest.mark.parametrize(
    ("first", "second", "bytes_apart"),
    [
        ("%a = gpu.thread_id x", "%d = gpu.thread_id x", 0),
        ("%a = gpu.thread_id x", "%d = gpu.thread_id y", None),
        ("%a = gpu.thread_id x", "%d = gpu.block_id x", None),
    ],
)
def test_numbers_of_threads_are_those_of_their_dimension(first: str, second: str, bytes_apart: int | None) -> None:
    casts = "%e = arith.index_cast %a : index to i64\n%f = arith.index_cast %d : index to i64\n"
    assert distance(f"{first}\n{second}\n{casts}" + at("%x", "%e") + at("%y", "%f")) == bytes_apart


@pytest.mark.parametrize(("other", "bytes_apart"), [("eq", 0), ("ne", None)])
def test_comparisons_are_those_of_their_predicate(other: str, bytes_apart: int | None) -> None:
    text = f"%a = arith.cmpi eq, %n, %c1 : i32\n%d = arith.cmpi {other}, %n, %c1 : i32\n"
    text += "%e = arith.extui %a : i1 to i64\n%f = arith.extui %d : i1 to i64\n"
    assert distance(text + at("%x", "%e") + at("%y", "%f")) == bytes_apart


def test_loads_are_never_equal() -> None:
    loads = "%a = llvm.load %p : !llvm.ptr<1> -> i64\n%d = llvm.load %p : !llvm.ptr<1> -> i64\n"
    assert distance(loads + at("%x", "%a") + at("%y", "%d")) is None
    assert distance(loads + at("%x", "%a") + at("%y", "%a")) == 0


@pytest.mark.parametrize(
    "made",
    [
        "llvm.atomicrmw add %p, %n monotonic : !llvm.ptr<1>, i32",
        '"simt.clock"() : () -> i32',
        'llvm.inline_asm "text", "=r" : () -> i32',
        '"simt.shuffle"(%c1, %n, %c1, %c1) {kind = "idx"} : (i32, i32, i32, i32) -> i32',
    ],
)
def test_what_does_more_than_compute_is_never_equal(made: str) -> None:
    addresses_of_both = at("%x", "%a", width="i32") + at("%y", "%d", width="i32")
    assert distance(f"%a = {made}\n%d = {made}\n{addresses_of_both}") is None


def test_results_of_regions_are_never_equal() -> None:
    branch = "scf.if %q -> (i64) { scf.yield %one : i64 } else { scf.yield %five : i64 }\n"
    text = f"{WIDE}%q = arith.cmpi eq, %n, %n : i32\n%a = {branch}%d = {branch}"
    assert distance(text + at("%x", "%a") + at("%y", "%d")) is None


def test_other_memory() -> None:
    first, second = addresses(
        at("%x", "1") + "%o = llvm.load %p : !llvm.ptr<1> -> !llvm.ptr<1>\n" + at("%y", "1", base="%o")
    )
    assert first.memory != second.memory
    assert (first.terms, first.known) == (second.terms, second.known)


def test_elements_of_unknown_size_end_the_sum() -> None:
    first, second = addresses(at("%x", "3", "!llvm.struct<(f32, f32)>") + at("%y", "1", base="%x"))
    assert (first.known, second.known) == (0, 4)
    assert first.memory == second.memory
    (rows,) = addresses(at("%x", "3", "!llvm.array<2 x f32>"))
    assert rows.known == 24


@pytest.mark.parametrize(("rounds", "opened"), [(127, True), (128, True), (129, False), (2000, False)])
def test_long_sums_are_opened_so_far(rounds: int, opened: bool) -> None:
    """Each round is a sum and a number: two steps of 256."""
    sums = "".join(f"%s{i + 1} = arith.addi %s{i}, %one : i64\n" for i in range(rounds))
    found = addresses(f"{WIDE}%s0 = arith.muli %e, %one : i64\n{sums}" + at("%x", f"%s{rounds}"))
    assert (found[0].known == 4 * rounds) is opened
