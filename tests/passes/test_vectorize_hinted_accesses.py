"""`vectorize-hinted-accesses`: two accesses of 16 bytes with one hint become one of 32, where nothing forbids it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.running import checked, kernel
from triptych.objectstage.device_errors import AssemblerError, MissingToolError
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.passes import cache_hints as tested

NEW = ARCHITECTURES["sm_100a"]
ARGUMENTS = "%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %i: i64, %n: i32, %v: vector<4xf32>, %w: vector<4xf32>"
CACHE = 'triptych.cache = "cs"'
F32 = "vector<4xf32>"


@pytest.fixture(autouse=True)
def assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that knows accesses of 32 bytes, whatever is installed."""
    monkeypatch.setattr(tested, "find_assembler", lambda: None)
    monkeypatch.setattr(tested, "ptx_version", lambda _assembler, _architecture: 88)


def at(name: str, offset: int, base: str = "%p", kind: str = "i8") -> str:
    return f"{name} = llvm.getelementptr {base}[{offset}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, {kind}\n"


def load(name: str, pointer: str, alignment: int, hint: str = CACHE, kind: str = F32, volatile: str = "") -> str:
    return (
        f"{name} = llvm.load {volatile} {pointer} {{alignment = {alignment} : i64, {hint}}} : !llvm.ptr<1> -> {kind}\n"
    )


def store(value: str, pointer: str, alignment: int, hint: str = CACHE) -> str:
    return f"llvm.store {value}, {pointer} {{alignment = {alignment} : i64, {hint}}} : {F32}, !llvm.ptr<1>\n"


USES = "%sum = arith.addf %a, %b : vector<4xf32>\n"
TWO_LOADS = at("%next", 16) + load("%a", "%p", 32) + load("%b", "%next", 16) + USES
JOINED = "# CHECK: llvm.load {{.*}} -> vector<8xi32>\n# CHECK-NOT: llvm.load"
APART = "# CHECK-COUNT-2: llvm.load {{.*}} -> vector<4x\n# CHECK-NOT: 8xi32"


def run(program: str, expected: str, architecture: Any = NEW) -> None:
    checked(kernel(program, ARGUMENTS), tested.joining(architecture), expected)


def test_two_loads() -> None:
    run(
        TWO_LOADS,
        """
        # CHECK: llvm.load %arg0 {alignment = 32 : i64, triptych.cache = "cs"} : !llvm.ptr<1> -> vector<8xi32>
        # CHECK-NEXT: vector.shuffle {{.*}} [0, 1, 2, 3] : vector<8xi32>, vector<8xi32>
        # CHECK-NEXT: vector.bitcast {{.*}} : vector<4xi32> to vector<4xf32>
        # CHECK-NEXT: vector.shuffle {{.*}} [4, 5, 6, 7] : vector<8xi32>, vector<8xi32>
        # CHECK-NEXT: vector.bitcast {{.*}} : vector<4xi32> to vector<4xf32>
        # CHECK-NOT: llvm.load
        # CHECK: arith.addf
        """,
    )


def test_two_stores_at_the_place_of_the_second() -> None:
    between = "%between = arith.addi %n, %n : i32\n"
    run(
        at("%next", 16) + store("%v", "%p", 32) + between + store("%w", "%next", 16),
        """
        # CHECK-NOT: llvm.store
        # CHECK: arith.addi
        # CHECK-NEXT: vector.bitcast %arg4 : vector<4xf32> to vector<4xi32>
        # CHECK-NEXT: vector.bitcast %arg5 : vector<4xf32> to vector<4xi32>
        # CHECK-NEXT: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
        # CHECK-NEXT: llvm.store {{.*}}, %arg0 {alignment = 32 : i64, triptych.cache = "cs"} : vector<8xi32>
        # CHECK-NOT: llvm.store
        """,
    )


def test_words_need_no_cast() -> None:
    run(
        at("%next", 16) + load("%a", "%p", 32, kind="vector<4xi32>") + load("%b", "%next", 16, kind="vector<4xi32>"),
        JOINED + "\n# CHECK-NOT: vector.bitcast",
    )


@pytest.mark.parametrize("kind", ["vector<8xf16>", "vector<16xi8>", "vector<2xi64>"])
def test_sixteen_bytes_of_any_elements(kind: str) -> None:
    run(at("%next", 16) + load("%a", "%p", 32, kind=kind) + load("%b", "%next", 16, kind=kind), JOINED)


@pytest.mark.parametrize("hint", ['triptych.order = "constant"', f'triptych.order = "constant", {CACHE}'])
def test_constant_memory_has_no_order(hint: str) -> None:
    run(at("%next", 16) + load("%a", "%p", 32, hint) + load("%b", "%next", 16, hint), JOINED)


def test_addresses_are_sums() -> None:
    one = "%one = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32\n"
    run(one + at("%next", 4, "%one", "f32") + load("%a", "%one", 32) + load("%b", "%next", 16), JOINED)


def test_four_loads_make_two() -> None:
    addresses = at("%one", 16) + at("%two", 32) + at("%three", 48)
    loads = load("%a", "%p", 32) + load("%b", "%one", 16) + load("%c", "%two", 32) + load("%d", "%three", 16)
    run(addresses + loads, "# CHECK-COUNT-2: llvm.load {{.*}} -> vector<8xi32>\n# CHECK-NOT: llvm.load")


def test_a_pair_may_begin_with_the_second_of_three() -> None:
    addresses = at("%one", 32) + at("%two", 48)
    loads = load("%a", "%p", 32) + load("%b", "%one", 32) + load("%c", "%two", 16)
    expected = "# CHECK: llvm.load {{.*}} -> vector<4xf32>\n# CHECK: llvm.load {{.*}} -> vector<8xi32>"
    run(addresses + loads, expected)


@pytest.mark.parametrize(
    "program",
    [
        at("%next", 16) + load("%a", "%p", 16) + load("%b", "%next", 16),
        at("%next", 16) + load("%a", "%p", 48) + load("%b", "%next", 16),
        at("%next", 32) + load("%a", "%p", 32) + load("%b", "%next", 16),
        at("%next", -16) + load("%a", "%p", 32) + load("%b", "%next", 16),
        at("%next", 16, "%q") + load("%a", "%p", 32) + load("%b", "%next", 16),
        at("%next", 16) + load("%a", "%p", 32) + load("%b", "%next", 16, 'triptych.cache = "cg"'),
        at("%next", 16) + load("%a", "%p", 32) + load("%b", "%next", 16, kind="vector<4xi32>"),
        at("%next", 16)
        + "".join(load(n, p, 32, 'triptych.order = "relaxed.gpu"') for n, p in (("%a", "%p"), ("%b", "%next"))),
        at("%next", 16) + load("%a", "%p", 32, volatile="volatile") + load("%b", "%next", 16, volatile="volatile"),
        at("%next", 16) + load("%a", "%p", 32, "other") + load("%b", "%next", 16, "other"),
        at("%next", 16) + load("%a", "%p", 32) + "gpu.barrier\n" + load("%b", "%next", 16),
        at("%next", 16) + load("%a", "%p", 32) + "llvm.store %n, %q : i32, !llvm.ptr<1>\n" + load("%b", "%next", 16),
    ],
    ids=[
        *("aligned to 16", "aligned to 48", "a gap", "downwards", "other memory", "other hints", "other types"),
        *("an order", "volatile", "no hint", "a barrier between", "a store between"),
    ],
)
def test_what_stays_apart(program: str) -> None:
    run(program, APART)


@pytest.mark.parametrize(("kind", "step"), [("vector<2xf32>", 8), ("vector<8xf32>", 32), ("i64", 8)])
def test_other_sizes(kind: str, step: int) -> None:
    loads = at("%next", step) + load("%a", "%p", 32, kind=kind) + load("%b", "%next", step, kind=kind)
    run(loads, f"# CHECK-COUNT-2: llvm.load {{{{.*}}}} -> {kind}\n# CHECK-NOT: vector.shuffle")


def test_a_load_and_a_store_stay() -> None:
    run(at("%next", 16) + load("%a", "%p", 32) + store("%a", "%next", 16), "# CHECK: llvm.load\n# CHECK: llvm.store")


def test_private_arrays_do_not_matter() -> None:
    array = "%four = arith.constant 4 : i32\n%array = llvm.alloca %four x i32 : (i32) -> !llvm.ptr\n"
    own = "llvm.store %n, %array : i32, !llvm.ptr\n"
    run(array + at("%next", 16) + load("%a", "%p", 32) + own + load("%b", "%next", 16), JOINED)


@pytest.mark.parametrize("architecture", ["sm_90a", "sm_80"])
def test_older_gpus(architecture: str) -> None:
    run(TWO_LOADS, APART, ARCHITECTURES[architecture])


@pytest.mark.parametrize("version", [87, 80])
def test_older_assemblers(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tested, "ptx_version", lambda _assembler, _architecture: version)
    run(TWO_LOADS, APART)


@pytest.mark.parametrize("error", [MissingToolError("none"), AssemblerError("none")])
def test_no_assembler(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise error

    monkeypatch.setattr(tested, "find_assembler", missing)
    run(TWO_LOADS, APART)
