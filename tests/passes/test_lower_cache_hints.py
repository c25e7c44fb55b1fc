"""`lower-cache-hints`: the PTX of every hint, order, memory and width; what has no hint stays with LLVM."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel, parsed
from triptych.ir.errors import LoweringError
from triptych.targets.nvptx.passes.cache_hints import lower_cache_hints

CG, EVICT = 'triptych.cache = "cg"', 'triptych.cache = "L1::evict_last"'


def order(text: str) -> str:
    return f'triptych.order = "{text}"'


def load(hints: str, kind: str = "i32", alignment: int = 32, space: str = "<1>", volatile: str = "") -> str:
    pointer = f"!llvm.ptr{space}"
    hints = f"{{alignment = {alignment} : i64, {hints}}}"
    return kernel(f"%r = llvm.load {volatile} %p {hints} : {pointer} -> {kind}", f"%p: {pointer}")


def store(hints: str, kind: str = "i32", alignment: int = 32, space: str = "<1>", volatile: str = "") -> str:
    pointer = f"!llvm.ptr{space}"
    hints = f"{{alignment = {alignment} : i64, {hints}}}"
    return kernel(f"llvm.store {volatile} %v, %p {hints} : {kind}, {pointer}", f"%p: {pointer}, %v: {kind}")


def is_written(program: str, text: str, constraints: str) -> None:
    expected = f'# CHECK: llvm.inline_asm has_side_effects "{text}", "{constraints},~{{memory}}"'
    checked(program, lower_cache_hints, f"# CHECK-NOT: llvm.load\n# CHECK-NOT: llvm.store\n{expected}")


@pytest.mark.parametrize(
    ("hints", "instruction"),
    [
        (CG, "ld.global.cg"),
        (EVICT, "ld.global.L1::evict_last"),
        (order("constant"), "ld.global.nc"),
        (f"{order('constant')}, {CG}", "ld.global.nc.cg"),
        (order("volatile"), "ld.volatile.global"),
        (f"{order('volatile')}, {CG}", "ld.volatile.global"),
        (order("mmio"), "ld.mmio.relaxed.sys.global"),
        (order("relaxed.gpu"), "ld.relaxed.gpu.global"),
        (order("acquire.cta"), "ld.acquire.cta.global"),
        (f"{order('acquire.sys')}, {CG}", "ld.acquire.sys.global"),
        (f"{order('acquire.sys')}, {EVICT}", "ld.acquire.sys.global.L1::evict_last"),
        (order("sc.gpu"), "fence.sc.gpu; ld.acquire.gpu.global"),
        (f"{order('sc.gpu')}, {EVICT}", "fence.sc.gpu; ld.acquire.gpu.global.L1::evict_last"),
        (f"{order('sc.gpu')}, {CG}", "fence.sc.gpu; ld.acquire.gpu.global"),
    ],
)
def test_loads(hints: str, instruction: str) -> None:
    is_written(load(hints), f"{instruction}.b32 $0, [$1];", "=r,l")


@pytest.mark.parametrize(
    ("hints", "instruction"),
    [
        (CG, "st.global.cg"),
        (order("volatile"), "st.volatile.global"),
        (order("mmio"), "st.mmio.relaxed.sys.global"),
        (order("release.gpu"), "st.release.gpu.global"),
        (order("sc.cluster"), "fence.sc.cluster; st.relaxed.cluster.global"),
    ],
)
def test_stores(hints: str, instruction: str) -> None:
    is_written(store(hints), f"{instruction}.b32 [$0], $1;", "l,r")


def test_volatile_accesses() -> None:
    is_written(load(CG, volatile="volatile"), "ld.volatile.global.b32 $0, [$1];", "=r,l")
    is_written(store(CG, volatile="volatile"), "st.volatile.global.b32 [$0], $1;", "l,r")
    is_written(load(order("acquire.gpu"), volatile="volatile"), "ld.acquire.gpu.global.b32 $0, [$1];", "=r,l")


@pytest.mark.parametrize(("space", "written"), [("<1>", ".global"), ("<3>", ".shared"), ("", "")])
def test_memories(space: str, written: str) -> None:
    is_written(load(CG, space=space), f"ld{written}.cg.b32 $0, [$1];", "=r,l")
    is_written(store(CG, space=space), f"st{written}.cg.b32 [$0], $1;", "l,r")


@pytest.mark.parametrize(
    ("kind", "shape", "words", "letter"),
    [
        ("i8", ".b8", 1, "h"),
        ("i16", ".b16", 1, "h"),
        ("f16", ".b16", 1, "h"),
        ("f32", ".b32", 1, "r"),
        ("i64", ".b64", 1, "l"),
        ("f64", ".b64", 1, "l"),
        ("vector<1xi8>", ".b8", 1, "h"),
        ("vector<2xi8>", ".b16", 1, "h"),
        ("vector<4xi8>", ".b32", 1, "r"),
        ("vector<2xf16>", ".b32", 1, "r"),
        ("vector<1xi64>", ".b64", 1, "l"),
        ("vector<8xi8>", ".v2.b32", 2, "r"),
        ("vector<4xf16>", ".v2.b32", 2, "r"),
        ("vector<4xf32>", ".v4.b32", 4, "r"),
        ("vector<8xf32>", ".v8.b32", 8, "r"),
        ("vector<2xf64>", ".v2.b64", 2, "l"),
        ("vector<4xi64>", ".v4.b64", 4, "l"),
    ],
)
def test_widths(kind: str, shape: str, words: int, letter: str) -> None:
    read = ", ".join(f"${i}" for i in range(words))
    read = f"{{{read}}}" if words > 1 else read
    is_written(load(CG, kind), f"ld.global.cg{shape} {read}, [${words}];", ",".join([f"={letter}"] * words + ["l"]))
    taken = ", ".join(f"${i + 1}" for i in range(words))
    taken = f"{{{taken}}}" if words > 1 else taken
    is_written(store(CG, kind), f"st.global.cg{shape} [$0], {taken};", ",".join(["l"] + [letter] * words))


def test_a_byte_comes_in_sixteen_bits() -> None:
    checked(
        load(CG, "i8"),
        lower_cache_hints,
        "# CHECK: llvm.inline_asm {{.*}} -> i16\n# CHECK-NEXT: llvm.trunc {{.*}} to i8",
    )
    checked(store(CG, "i8"), lower_cache_hints, "# CHECK: llvm.zext %arg1 : i8 to i16\n# CHECK-NEXT: llvm.inline_asm")
    for program in (load(CG, "i16"), store(CG, "i16")):
        checked(program, lower_cache_hints, "# CHECK-NOT: llvm.trunc\n# CHECK-NOT: llvm.zext\n# CHECK: llvm.inline_asm")


def test_numbers_are_read_as_bits() -> None:
    checked(load(CG, "f32"), lower_cache_hints, "# CHECK: -> i32\n# CHECK-NEXT: llvm.bitcast {{.*}} : i32 to f32")
    checked(store(CG, "f32"), lower_cache_hints, "# CHECK: llvm.bitcast %arg1 : f32 to i32\n# CHECK-NEXT: llvm.inline")
    checked(load(CG), lower_cache_hints, "# CHECK: llvm.inline_asm\n# CHECK-NOT: bitcast")


def test_vectors_are_made_of_their_words() -> None:
    checked(
        load(CG, "vector<2xf64>"),
        lower_cache_hints,
        """
        # CHECK: -> !llvm.struct<(i64, i64)>
        # CHECK-NEXT: llvm.extractvalue {{.*}}[0]
        # CHECK-NEXT: llvm.extractvalue {{.*}}[1]
        # CHECK-NEXT: vector.from_elements {{.*}} : vector<2xi64>
        # CHECK-NEXT: vector.bitcast {{.*}} : vector<2xi64> to vector<2xf64>
        """,
    )
    checked(
        store(CG, "vector<4xf16>"),
        lower_cache_hints,
        """
        # CHECK: vector.bitcast %arg1 : vector<4xf16> to vector<2xi32>
        # CHECK-NEXT: vector.extract {{.*}}[0] : i32 from vector<2xi32>
        # CHECK-NEXT: vector.extract {{.*}}[1] : i32 from vector<2xi32>
        # CHECK-NEXT: llvm.inline_asm
        """,
    )
    checked(
        load(CG, "vector<2xi8>"),
        lower_cache_hints,
        """
        # CHECK: -> i16
        # CHECK-NEXT: vector.from_elements {{.*}} : vector<1xi16>
        # CHECK-NEXT: vector.bitcast {{.*}} : vector<1xi16> to vector<2xi8>
        """,
    )


def test_what_llvm_takes_apart_is_left_to_it() -> None:
    checked(load(CG, "vector<4xf32>", 8), lower_cache_hints, "# CHECK: llvm.load\n# CHECK-NOT: inline_asm")
    checked(store(CG, "vector<4xf32>", 8), lower_cache_hints, "# CHECK: llvm.store\n# CHECK-NOT: inline_asm")
    is_written(load(CG, alignment=4), "ld.global.cg.b32 $0, [$1];", "=r,l")


def test_what_has_no_hint_is_left_to_llvm() -> None:
    checked(load("other"), lower_cache_hints, "# CHECK: llvm.load\n# CHECK-NOT: inline_asm")
    checked(load("other", volatile="volatile"), lower_cache_hints, "# CHECK: llvm.load volatile")


@pytest.mark.parametrize("program", [access(order("mmio"), "vector<2xf32>") for access in (load, store)])
def test_memory_mapped_registers_have_one_word(program: str) -> None:
    module = parsed(program)
    with pytest.raises(LoweringError, match="moves one word") as error:
        lower_cache_hints(module)
    assert "found: 64 bits with MemoryOrder.MMIO" in str(error.value)
    is_written(load(order("mmio"), "i64"), "ld.mmio.relaxed.sys.global.b64 $0, [$1];", "=l,l")


@pytest.mark.parametrize(("space", "written"), [("<1>", ".global"), ("", "")])
def test_prefetches(space: str, written: str) -> None:
    operation = f'"simt.prefetch"(%p) : (!llvm.ptr{space}) -> ()'
    is_written(kernel(operation, f"%p: !llvm.ptr{space}"), f"prefetch{written}.L2 [$0];", "l")


def test_host_functions_are_not_changed() -> None:
    access = f"%r = llvm.load %p {{alignment = 4 : i64, {CG}}} : !llvm.ptr<1> -> i32"
    host = f"func.func @host(%p: !llvm.ptr<1>) {{ {access} return }}"
    checked(kernel("", host=host), lower_cache_hints, "# CHECK: llvm.load")
