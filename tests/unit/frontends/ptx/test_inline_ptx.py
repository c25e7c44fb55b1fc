"""Inline PTX in kernels: memory, lanes, guards and special registers do what the PTX simulator does; mistakes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.support.ptx.unified import numpy_gpu
from tests.unit.targets.nvptx.tools import HAS_ASSEMBLER, needs_assembler
from triptych import cute
from triptych.cute.arch import inline_ptx
from triptych.frontends.ptx.lowerings import known_instructions
from triptych.frontends.ptx.statements import MalformedPtxError, statements

THREADS = 64
Array = np.ndarray[Any, Any]


@tt.kernel
def one_text(text: tt.Constexpr[str], x: cute.Tensor, out: cute.Tensor) -> None:
    """`$0` is a result, `$1` an element of x and `$2` its address, `$3` an address in shared memory."""
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_array(tt.Uint32, 4 * THREADS, 16)
    place = (x.iterator + thread * 4).toint()
    found = inline_ptx(text, "=r,r,l,r", (x[thread * 4], place, (shared + thread * 4).toint()), tt.Uint32)
    out[thread] = found


@tt.jit
def launched(text: tt.Constexpr[str], x: cute.Tensor, out: cute.Tensor) -> None:
    one_text(text, x, out).launch(grid=1, block=THREADS)


def run(text: str) -> tuple[Array, Array]:
    """The results of all threads, and memory afterwards."""
    x = (np.arange(4 * THREADS, dtype=np.uint32) * 2654435761 % 1000003).astype(np.uint32)
    out = np.zeros(THREADS, np.uint32)
    launched(text, x, out)
    return out, x


TEXTS = [
    "ld.global.u32 $0, [$2+4];",
    "ld.weak.global.u32 $0, [$2];",
    "ld.volatile.global.b32 $0, [$2 + 8];",
    "ld.relaxed.gpu.global.u32 $0, [$2];",
    "ld.global.acquire.gpu.b32 $0, [$2];",
    "ld.global.nc.u32 $0, [$2];",
    "ld.u32 $0, [$2];",
    "ld.global.u8 $0, [$2+1];",
    "ld.global.s16 $0, [$2];",
    "{ .reg .b32 a, b, c; ld.global.v4.u32 {a, b, c, $0}, [$2]; add.u32 $0, $0, a; xor.b32 $0, $0, c; }",
    "{ .reg .b64 a, b; ld.global.v2.b64 {a, b}, [$2]; cvt.u32.u64 $0, b; }",
    "st.global.u32 [$2+12], $1; mov.u32 $0, 1;",
    "st.release.sys.global.u32 [$2], 7; mov.u32 $0, 1;",
    "st.global.v2.u32 [$2+8], {$1, 5}; mov.u32 $0, 2;",
    "st.global.u16 [$2], $1; mov.u32 $0, 2;",
    "{ .reg .pred p; setp.lt.u32 p, $1, 500000; mov.u32 $0, 9; @p ld.global.u32 $0, [$2+4]; "
    "@!p st.global.u32 [$2], 3; }",
    "st.shared.u32 [$3], $1; bar.sync 0; ld.shared.u32 $0, [$3];",
    "st.shared.v4.u32 [$3], {$1, $1, 4, $1}; bar.sync 0; { .reg .b32 a; mov.b32 a, $3; xor.b32 a, a, 16; "
    "ld.shared.u32 $0, [a+8]; }",
    "st.shared.u32 [$3], 100; bar.sync 1, 64; { .reg .b64 g; cvt.u64.u32 g, $3; cvta.shared.u64 g, g; "
    "ld.u32 $0, [g]; }",
    "atom.global.add.u32 $0, [$2], 5;",
    "atom.add.release.gpu.u32 $0, [$2], $1;",
    "atom.global.max.s32 $0, [$2], 77;",
    "atom.global.min.u32 $0, [$2], 77;",
    "atom.global.and.b32 $0, [$2], 0xff0;",
    "atom.global.exch.b32 $0, [$2], $1;",
    "atom.global.cas.b32 $0, [$2], $1, 8;",
    "atom.global.add.f32 $0, [$2], 0f3F800000;",
    "red.global.add.u32 [$2], 5; mov.b32 $0, 1;",
    "red.relaxed.gpu.global.or.b32 [$2], 1; fence.acq_rel.gpu; membar.gl; fence.sc.sys; mov.b32 $0, 1;",
    "prefetch.global.L2 [$2]; nanosleep.u32 10; mov.b32 $0, 3;",
    *(f"mov.u32 $0, {name};" for name in ("%tid.x", "%tid.y", "%ntid.x", "%ctaid.x", "%nctaid.z", "WARP_SZ")),
    "mov.u32 $0, %laneid;",
    *(f"mov.b32 $0, %lanemask_{test};" for test in ("lt", "le", "eq", "ge", "gt")),
    *(f"shfl.sync.{mode}.b32 $0, $1, {step}, {clamp}, -1;"
      for mode, step, clamp in (("up", 3, 0), ("down", 5, 31), ("bfly", 6, 31), ("idx", 9, 31), ("idx", 2, 0x1807))),
    *(f"{{ .reg .pred p; .reg .b32 t; shfl.sync.{mode}.b32 t|p, $1, {step}, {clamp}, -1; selp.b32 $0, t, 0, p; }}"
      for mode, step, clamp in (("up", 3, 0), ("down", 5, 31), ("bfly", 9, 0x1807), ("idx", 9, 7), ("down", 2, 7171))),
    *(f"{{ .reg .pred p, q; setp.lt.u32 p, $1, {bound}; vote.sync.{mode}.pred q, p, -1; selp.b32 $0, 1, 0, q; }}"
      for mode in ("any", "all", "uni") for bound in (500000, 2000000)),
    "{ .reg .pred p; setp.lt.u32 p, $1, 500000; vote.sync.ballot.b32 $0, !p, 0xffffffff; }",
    "{ .reg .b32 t; and.b32 t, $1, 3; match.any.sync.b32 $0, t, -1; }",
    "{ .reg .pred p; match.all.sync.b32 $0|p, 5, -1; @!p mov.b32 $0, 1; }",
    *(f"redux.sync.{form} $0, $1, -1;" for form in ("add.u32", "min.s32", "max.u32", "and.b32", "xor.b32")),
    "bar.warp.sync -1; mov.u32 $0, 1;",
    "barrier.sync.aligned 2, 64; mov.u32 $0, 1;",
    "griddepcontrol.wait; griddepcontrol.launch_dependents; mov.u32 $0, 1;",
    "{ .reg .v2 .b32 v; mov.b32 v.x, $1; mov.b32 v.y, 7; add.u32 $0, v.x, v.y; }",
    "{ .reg .v4 .u32 v; ld.global.v4.u32 v, [$2]; add.u32 $0, v.x, v.w; }",
    *(f"tcgen05.{form}; mov.u32 $0, 1;" for form in ("fence::before_thread_sync", "fence::after_thread_sync",
      "wait::ld.sync.aligned", "wait::st.sync.aligned")),
]  # fmt: skip


@needs_assembler
@pytest.mark.parametrize("text", TEXTS)
def test_text_does_what_the_gpu_does(text: str) -> None:
    here = run(text)
    with numpy_gpu("sm_100a" if "tcgen05" in text else "sm_90"):
        there = run(text)
    for found, expected in zip(here, there, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_every_family_of_the_table_is_in_a_test() -> None:
    """Either computed over random bits by the laws, or run here, or in the tests of clusters and of several GPUs."""
    tests = Path(__file__).parents[3]
    others = (
        tests / "laws/test_inline_ptx_laws.py",
        tests / "unit/targets/cpu/emit/test_clusters.py",
        tests / "unit/frontends/ptx/test_multimem.py",
    )
    named = " ".join((*TEXTS, *(path.read_text(encoding="utf-8") for path in others)))
    assert [name for name in known_instructions() if name not in named] == []


@tt.kernel
def own(x: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    value = x[thread]
    text = "{ .reg .pred p; setp.gt.f32 p, $1, 0f00000000; mov.f32 $0, 0f00000000; @p my.op.f32 $0, $1, 0f40000000; }"
    out[thread] = inline_ptx(text, "=f,f", (value,), tt.Float32)


@tt.jit
def own_host(x: cute.Tensor, out: cute.Tensor) -> None:
    own(x, out).launch(grid=1, block=32)


def test_programs_give_instructions_a_meaning() -> None:
    x = np.arange(-16, 16, dtype=np.float32)
    out = np.zeros_like(x)
    with pytest.raises(NotImplementedError, match="TT0518"):
        own_host(x, out)

    @cute.register_ptx_meaning("my.op.f32")
    def times(a: tt.Float32, b: tt.Float32) -> tt.Float32:
        return a * b if a < 10.0 else a

    own_host(x, out)
    np.testing.assert_array_equal(out, np.where(x > 0, np.where(x < 10, 2 * x, x), 0))

    @cute.register_ptx_meaning("my.op.f32")
    def plus(a: tt.Float32, b: tt.Float32) -> tt.Float32:
        return a + b

    own_host(x, out)
    np.testing.assert_array_equal(out, np.where(x > 0, x + 2, 0))


def test_types_of_a_meaning_are_written() -> None:
    with pytest.raises(TypeError, match="not all written"):
        cute.register_ptx_meaning("my.op.f32", lambda a: a)


MISTAKES = {
    "add.f32 $0, $1, $2": "does not end with `;`",
    "{ mov.b32 $0, $1;": "nothing closes",
    "mov.b32 $0, $1; }": "closes nothing",
    "mov.b32 %0, %1;": "as LLVM writes it",
    "add.u32 $0, $1, %laneid;": "`%laneid` as .u32",
    "mov.b32 $0, %r7;": "a register of the text",
    "mov.b32 t, $1; mov.b32 $0, 0;": "no register of this text",
    "{ .reg .b32 t; mov.b32 $0, t; }": "before anything is written",
    "{ .reg .b32 t, t; mov.b32 $0, 1; }": "declared twice",
    "{ .reg .u33 t; mov.b32 $0, 1; }": "u33",
    "mov.b64 $0, $2;": "a register of 32 bits",
    "add.u32 $0, $1;": "2 operands",
    "add.u32 $0, $1, 1.5;": "1.5",
    "add.f32 $0, $1, 1;": "`1` as .f32",
    "st.global.u32 [$2], 1;": "nothing is written to the result",
    "ld.global.u32 $0, $2;": "as an address",
    "ld.global.u32 $0, [$2+$3];": "as an address",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_reported(text: str) -> None:
    with pytest.raises(TypeError, match=r"TT0301") as raised:
        run(text)
    assert MISTAKES[text] in str(raised.value)
    assert "test_inline_ptx.py" in str(raised.value)


UNKNOWN = [
    *("div.rz.f32 $0, $1, $1;", "wgmma.fence.sync.aligned;", "L: bra L;", "exit;", "cvt.rna.tf32.f32 $0, $1;"),
    *("ld.param.u32 $0, [$2];", "atom.global.inc.u32 $0, [$2], 5;", "mul.u32 $0, $1, $1;", "shl.u32 $0, $1, 1;"),
    *(
        "mapa.shared::cluster.u64 $0, $3, 0;",
        "fence.proxy.async;",
        "prmt.b32.f4e $0, $1, $1, $1;",
        "add.sat.s32 $0, $1, 1;",
    ),
]


@pytest.mark.parametrize("text", UNKNOWN)
def test_text_without_a_meaning_names_its_instruction(text: str) -> None:
    with pytest.raises(NotImplementedError, match="TT0518") as raised:
        run(text)
    assert f"`{text.split()[0].rstrip(';')}`" in str(raised.value)


CONSTRAINTS = (
    "=r,r,l",
    "=r,r,l,r,r",
    "r,=r,l,r",
    "=r,r,l,z",
    "=r,r,l,+r",
    "=r,r,l,9",
    "=x,r,l,r",
    "=r,r,r,r",
    "=l,r,l,r",
)


@tt.kernel
def constrained(constraints: tt.Constexpr[str], x: cute.Tensor) -> None:
    inline_ptx("mov.b32 $0, $1;", constraints, (x[0], x.iterator, x[1]), tt.Uint32)


@tt.jit
def constrained_host(constraints: tt.Constexpr[str], x: cute.Tensor) -> None:
    constrained(constraints, x).launch(grid=1, block=32)


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("target", ["cpu", *(["nvptx:sm_90"] if HAS_ASSEMBLER else [])])
def test_constraints_fit_or_are_refused(constraints: str, target: str) -> None:
    with pytest.raises(TypeError, match="constraints of inline PTX do not fit"):
        tt.compile(constrained_host, constraints, np.zeros(4, np.uint32), target=target)
    tt.compile(constrained_host, "=r,r,l,0", np.zeros(4, np.uint32), target=target)


def test_octal_and_decimal_literals() -> None:
    assert (run("mov.u32 $0, 010;")[0] == 8).all()
    assert (run("{ .reg .f64 d; mov.f64 d, 2.5; cvt.rzi.u32.f64 $0, d; }")[0] == 2).all()
    assert (run("mov.u32 $0, 0b101U;")[0] == 5).all()


@pytest.mark.parametrize("text", ["add $0", ".reg x;", "}"])
def test_text_that_is_no_ptx(text: str) -> None:
    with pytest.raises(MalformedPtxError):
        statements(text)


@tt.kernel
def with_constant(letter: tt.Constexpr[str], x: cute.Tensor) -> None:
    x[0] = inline_ptx("add.s32 $0, $1, $2;", f"=r,r,{letter}", (x[0], tt.Uint32(41)), tt.Uint32)


@tt.jit
def with_constant_host(letter: tt.Constexpr[str], x: cute.Tensor) -> None:
    with_constant(letter, x).launch(grid=1, block=1)


@pytest.mark.parametrize("letter", ["n", "i"])
def test_constants_are_written_into_the_text(letter: str) -> None:
    x = np.ones(1, np.uint32)
    with_constant_host(letter, x)
    assert x[0] == 42
    if HAS_ASSEMBLER:
        text = tt.compile(with_constant_host, letter, x, target="nvptx:sm_80").__ptx__
        assert re.search(r"add\.s32 %r\d+, %r\d+, 41;", text)


@needs_assembler
def test_nvidia_gets_the_text_as_it_is() -> None:
    text = "{ .reg .pred ps; setp.ne.b32 ps, $1, 0; selp.b32 $0, 7, 9, ps; }"
    arrays = np.zeros(4 * THREADS, np.uint32), np.zeros(THREADS, np.uint32)
    lines = tt.compile(launched, text, *arrays, target="nvptx:sm_90").__ptx__.splitlines()
    start = next(i for i, line in enumerate(lines) if "begin inline asm" in line)
    body = lines[start + 1].strip()
    assert re.fullmatch(r"{ \.reg \.pred ps; setp\.ne\.b32 ps, %r\d+, 0; selp\.b32 %r\d+, 7, 9, ps; }", body)
