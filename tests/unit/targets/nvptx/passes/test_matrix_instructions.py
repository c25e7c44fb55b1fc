"""Matrices in the registers of a warp: `tile.mma`, ldmatrix, stmatrix and cp.async on every architecture."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.unit.targets.nvptx.tools import needs_assembler
from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.modules import SerializedModule
from triptych.kernel_ir.dialects.mma import WARP_MMAS, WarpMma, elements_per_register
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS
from triptych.layout import Layout, size
from triptych.objectstage.device_errors import ArchitectureError
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions, find_target
from triptych.stages import Compiled, Traced
from triptych.targets.nvptx.description.architectures import ARCHITECTURES, Architecture
from triptych.targets.nvptx.description.instructions import mma_in_ptx
from triptych.targets.nvptx.passes.expand_tile_mma import halves_of_registers, written_as

pytestmark = needs_assembler

ELEMENTS = {"f16": "f16", "bf16": "bf16", "tf32": "f32", "f32": "f32", "s32": "i32"}
TILES = (2, 3, 2)
NEWEST = {mma.name: mma for mma in WARP_MMAS.values() if mma.since > 80}


def compiled(kernels: str, architecture: str) -> Compiled:
    """Kernels written as MLIR."""
    for dialect in KERNEL_DIALECTS:
        dialect.load(context())
    smem = "llvm.mlir.global external @__smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>"
    device = f"gpu.module @kernels {{ {smem}\n{kernels} }}"
    text = f"module attributes {{gpu.container_module}} {{ {device} func.func @k() {{ return }} }}"
    traced = Traced("k", SerializedModule(bindings.mlir().Module.parse(text, context=context())), (), ())
    target = find_target(f"nvptx:{architecture}")
    return target.codegen(lower(traced, target), CompileOptions())


def kernel(name: str, body: str) -> str:
    return f"gpu.func @{name}(%p: !llvm.ptr<1>) kernel {{ {body}\ngpu.return }}"


class Fragment:
    """A private array of whole registers; each thread has its own word of global memory for every one."""

    def __init__(self, name: str, kind: str, values: Layout, instructions: int, words_before: int) -> None:
        self.name, self.before = name, words_before
        self.element = ELEMENTS.get(kind, "i8")
        self.together = elements_per_register(kind)
        count = size(values)
        assert isinstance(count, int)
        self.registers = count // self.together * instructions

    @property
    def offsets(self) -> range:
        return range(0, self.registers * self.together, self.together)

    def allocation(self) -> str:
        count = f"%count_{self.name} = llvm.mlir.constant({self.registers * self.together} : i32) : i32"
        return f"{count} %{self.name} = llvm.alloca %count_{self.name} x {self.element} : (i32) -> !llvm.ptr"

    def addresses(self) -> str:
        lines = []
        for i, offset in enumerate(self.offsets):
            word = f"llvm.getelementptr %mine[{self.before + i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32"
            register = f"llvm.getelementptr %{self.name}[{offset}] : (!llvm.ptr) -> !llvm.ptr, {self.element}"
            lines.append(f"%word_{self.name}{i} = {word} %register_{self.name}{i} = {register}")
        return "\n".join(lines)

    def fill(self) -> str:
        return self._moves("word", "!llvm.ptr<1>", "register", "!llvm.ptr")

    def empty(self) -> str:
        return self._moves("register", "!llvm.ptr", "word", "!llvm.ptr<1>")

    def _moves(self, source: str, source_type: str, to: str, to_type: str) -> str:
        return "\n".join(
            f"%{to}_value_{self.name}{i} = llvm.load %{source}_{self.name}{i} : {source_type} -> i32 "
            f"llvm.store %{to}_value_{self.name}{i}, %{to}_{self.name}{i} : i32, {to_type}"
            for i in range(self.registers)
        )


def product(mma: WarpMma) -> str:
    """A kernel that multiplies what it finds in global memory."""
    m, n, k = TILES
    a = Fragment("a", mma.a, mma.tv_a[1], m * k, 0)
    b = Fragment("b", mma.b, mma.tv_b[1], n * k, a.registers)
    d = Fragment("d", mma.accumulator, mma.tv_c[1], m * n, a.registers + b.registers)
    attributes = {"tiles": TILES, "a": a.offsets, "b": b.offsets, "c": d.offsets, "d": d.offsets}
    words = ", ".join(f"{name} = {array(numbers)}" for name, numbers in attributes.items())
    pointers = ", ".join(["!llvm.ptr"] * 4)
    lines = [
        *(fragment.allocation() for fragment in (a, b, d)),
        "%t = gpu.thread_id x %thread = arith.index_cast %t : index to i64",
        "%mine = llvm.getelementptr %p[%thread] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, !llvm.array<4096 x i8>",
        *(fragment.addresses() for fragment in (a, b, d)),
        *(fragment.fill() for fragment in (a, b, d)),
        f'"tile.mma"(%d, %a, %b, %d) {{instruction = "{mma.name}", {words}}} : ({pointers}) -> ()',
        d.empty(),
    ]
    return kernel(mma.name.replace(".", "_"), "\n".join(lines))


def array(numbers: Iterable[int]) -> str:
    return f"array<i64: {', '.join(map(str, numbers))}>"


def _written(mma: WarpMma, architecture: Architecture) -> list[str]:
    written = written_as(mma, architecture)
    return [written.name] * (mma.shape_mnk[2] // written.shape_mnk[2])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_matrix_instruction_takes_registers(architecture: str) -> None:
    known = [mma for mma in WARP_MMAS.values() if mma.since <= ARCHITECTURES[architecture].generation]
    result = compiled("\n".join(map(product, known)), architecture)
    ptx = result.views["ptx"]()
    expected = Counter(written for mma in known for written in _written(mma, ARCHITECTURES[architecture]))
    for mma in known:
        number = expected[mma.name] * math.prod(TILES)
        assert len(re.findall(rf"{re.escape(mma_in_ptx(mma.name))}\s", ptx)) == number, mma.name
    assert ".local" not in ptx
    assert not re.search(r"\b(prmt|shl|shr|cvt\.u|mov\.b32 \{)", ptx)
    for used in result.views["resources"]().values():
        assert used.stack == used.spill_stores == 0


@pytest.mark.parametrize("name", NEWEST)
def test_products_of_halves_add_what_a_product_of_fp8_adds(name: str) -> None:
    """Both factors of each have every number at the same place along k, and together all of k."""
    fp8, f16 = WARP_MMAS[name], written_as(WARP_MMAS[name], ARCHITECTURES["sm_90a"])
    assert f16.shape_mnk == (16, 8, 16)
    every: list[int] = []
    for part in range(2):
        of_a, of_b = (
            _places(meant, written, rows, part)
            for meant, written, rows in ((fp8.tv_a, f16.tv_a, 16), (fp8.tv_b, f16.tv_b, 8))
        )
        assert of_a == of_b
        assert sorted(of_a) == list(range(16))
        every += of_a.values()
    assert sorted(every) == list(range(32))


def _places(meant: Layout, written: Layout, rows: int, part: int) -> dict[int, int]:
    """Where along k the numbers at each place along k of a product of f16 come from; rows stay what they are."""
    values = size(meant[1])
    assert isinstance(values, int)
    found: dict[int, int] = {}
    for thread in range(32):
        for operand, (register, half) in enumerate(halves_of_registers(values // 4)[part]):
            for i in range(2):
                here, there = written((thread, 2 * operand + i)), meant((thread, 4 * register + 2 * half + i))
                assert isinstance(here, int)
                assert isinstance(there, int)
                assert here % rows == there % rows
                assert found.setdefault(here // rows, there // rows) == there // rows
    return found


@pytest.mark.parametrize("name", NEWEST)
def test_older_gpus_refuse_newer_matrix_instructions(name: str) -> None:
    with pytest.raises(ArchitectureError, match="sm_86 has no instruction") as caught:
        compiled(product(NEWEST[name]), "sm_86")
    assert mma_in_ptx(name) in str(caught.value)
    assert "sm_89 or newer" in str(caught.value)


def matrix_load(name: str, registers: int) -> str:
    types = ", ".join(["i32"] * registers)
    load = f'%l:{registers} = "tile.load_matrix"(%s) {{instruction = "{name}"}} : (!llvm.ptr<3>) -> ({types})'
    return f"{load} llvm.store %l#{registers - 1}, %p : i32, !llvm.ptr<1>"


def matrix_store(name: str, registers: int) -> str:
    values, types = ", ".join(["%v"] * registers), ", ".join(["i32"] * registers)
    store = f'"tile.store_matrix"(%s, {values}) {{instruction = "{name}"}} : (!llvm.ptr<3>, {types}) -> ()'
    return f"{CLOCK.format('v')} {store}"


CLOCK = '%{} = "simt.clock"() : () -> i32'


def copy(size: int, cache: str, *, partly: bool) -> str:
    attributes = f'{{size = {size} : i32, cache = "{cache}"}}'
    if partly:
        types = "(!llvm.ptr<3>, !llvm.ptr<1>, i32) -> ()"
        return f'{CLOCK.format("n")} "simt.async_copy"(%s, %p, %n) {attributes} : {types}'
    return f'"simt.async_copy"(%s, %p) {attributes} : (!llvm.ptr<3>, !llvm.ptr<1>) -> ()'


FORMS = {
    **{
        f"ldmatrix.sync.aligned.m8n8.x{number}{trans}.shared.b16": (
            matrix_load(f"ldmatrix.m8n8.x{number}{trans}.b16", number),
            80,
            False,
        )
        for number in (1, 2, 4)
        for trans in ("", ".trans")
    },
    **{
        f"ldmatrix.sync.aligned.m16n16.x{number}.trans.shared.b8": (
            matrix_load(f"ldmatrix.m16n16.x{number}.trans.b8", 2 * number),
            100,
            True,
        )
        for number in (1, 2)
    },
    **{
        f"stmatrix.sync.aligned.m8n8.x{number}{trans}.shared.b16": (
            matrix_store(f"stmatrix.m8n8.x{number}{trans}.b16", number),
            90,
            False,
        )
        for number in (1, 2, 4)
        for trans in ("", ".trans")
    },
    "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8": (matrix_store("stmatrix.m16n8.x4.trans.b8", 4), 100, True),
    **{f"cp.async.ca.shared.global [__smem], [%rd1], {n};": (copy(n, "all", partly=False), 80, False) for n in (4, 8)},
    "cp.async.cg.shared.global [__smem], [%rd1], 16;": (copy(16, "global", partly=False), 80, False),
    "cp.async.cg.shared.global [__smem], [%rd1], 16, %r1;": (copy(16, "global", partly=True), 80, False),
    "cp.async.commit_group": ('"simt.async_commit"() : () -> ()', 80, False),
    "cp.async.wait_group": ('"simt.async_wait"() {groups = 2 : i32} : () -> ()', 80, False),
}
"""What PTX has, the operation it comes from, and the first GPUs that know it (only those with an `a`)."""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_form_of_a_matrix_copy(architecture: str) -> None:
    machine = ARCHITECTURES[architecture]
    known = {
        ptx: body
        for ptx, (body, since, specific) in FORMS.items()
        if machine.generation >= since and (machine.is_specific or not specific)
    }
    smem = "%s = llvm.mlir.addressof @__smem : !llvm.ptr<3> "
    text = "\n".join(kernel(f"k{i}", smem + body) for i, body in enumerate(known.values()))
    made = compiled(text, architecture).views["ptx"]()
    for ptx in known:
        assert ptx in made


@pytest.mark.parametrize("ptx", [ptx for ptx, form in FORMS.items() if form[1] > 89])
def test_older_gpus_refuse_newer_matrix_copies(ptx: str) -> None:
    smem = "%s = llvm.mlir.addressof @__smem : !llvm.ptr<3> "
    with pytest.raises(ArchitectureError, match="sm_89 has no instruction"):
        compiled(kernel("k", smem + FORMS[ptx][0]), "sm_89")
