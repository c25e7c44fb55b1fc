"""`expand-narrow-floats` of both targets: which conversions are instructions, and from which GPU on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.running import checked
from triptych.ir.modules import Signature, attach_signature
from triptych.targets.cpu.passes.narrow_floats import expand_narrow_floats
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.passes.narrow_floats import expanding

SATURATE = "{triptych.saturate}"


def narrowing(form: str, attributes: str = "", lanes: int | None = None, wide: str = "f32") -> str:
    """A function that gives the bits of a rounded number, as far as that is a number of another type."""
    given, made = (wide, form) if lanes is None else (f"vector<{lanes}x{wide}>", f"vector<{lanes}x{form}>")
    back = "" if form in ("tf32",) else f"%y = arith.extf %r : {made} to {given}"
    return f"func.func @f(%x: {given}) {{ %r = arith.truncf %x {attributes} : {given} to {made} {back} return }}"


def on(architecture: str) -> Any:
    return expanding(ARCHITECTURES[architecture])


PAIRS = [
    ("f8E4M3FN", "sm_89", "sm_86", "ff.to.e4m3x2.rn", "e4m3x2.to.f16x2.rn"),
    ("f8E5M2", "sm_89", "sm_86", "ff.to.e5m2x2.rn", "e5m2x2.to.f16x2.rn"),
    ("f6E2M3FN", "sm_100a", "sm_90a", "ff.to.e2m3x2.rn.satfinite", "e2m3x2.to.f16x2.rn"),
    ("f6E3M2FN", "sm_100a", "sm_90a", "ff.to.e3m2x2.rn.satfinite", "e3m2x2.to.f16x2.rn"),
    ("f4E2M1FN", "sm_100a", "sm_90a", "ff.to.e2m1x2.rn.satfinite", "e2m1x2.to.f16x2.rn"),
]


@pytest.mark.parametrize(("form", "since", "before", "narrow", "widen"), PAIRS)
def test_pairs_have_instructions(form: str, since: str, before: str, narrow: str, widen: str) -> None:
    for attributes in ("", SATURATE):
        checked(
            narrowing(form, attributes),
            on(since),
            f"""
            # CHECK: llvm.call_intrinsic "llvm.nvvm.{narrow}"(%{{{{\\w+}}}}, %arg0) : (f32, f32) -> i16
            # CHECK-NOT: "llvm.nvvm.{narrow}"
            # CHECK: llvm.call_intrinsic "llvm.nvvm.{widen}"(%{{{{\\w+}}}}) : (i16) -> vector<2xf16>
            # CHECK: vector.extract {{{{.*}}}}[0]
            # CHECK: arith.extf {{{{.*}}}} : f16 to f32
            """,
        )
    checked(narrowing(form), on(before), "# CHECK: func.func @f\n# CHECK-NOT: llvm.nvvm\n# CHECK: return")


def test_exponents_are_only_widened() -> None:
    widening = "func.func @f(%x: f8E8M0FNU) { %y = arith.extf %x : f8E8M0FNU to f32 return }"
    checked(widening, on("sm_100a"), '# CHECK: "llvm.nvvm.ue8m0x2.to.bf16x2"({{.*}}) : (i16) -> vector<2xbf16>')
    checked(widening, on("sm_90a"), "# CHECK: func.func @f\n# CHECK-NOT: llvm.nvvm")
    checked(narrowing("f8E8M0FNU"), on("sm_100a"), '# CHECK-NOT: "llvm.nvvm.ff\n# CHECK: ue8m0x2')


@pytest.mark.parametrize(("lanes", "words"), [(2, 1), (3, 2), (4, 2), (5, 3)])
def test_vectors_go_by_two(lanes: int, words: int) -> None:
    for form, narrow in (("f8E4M3FN", "ff.to.e4m3x2.rn"), ("f4E2M1FN", "ff.to.e2m1x2.rn.satfinite")):
        checked(
            narrowing(form, SATURATE, lanes),
            on("sm_100a"),
            f'# CHECK-COUNT-{words}: "llvm.nvvm.{narrow}"\n# CHECK-NOT: "llvm.nvvm.{narrow}"\n# CHECK: .to.f16x2',
        )


def test_the_second_number_is_the_high_half() -> None:
    checked(
        narrowing("f8E4M3FN", SATURATE, 2),
        on("sm_89"),
        """
        # CHECK: %0 = vector.extract %arg0[0]
        # CHECK-NEXT: %1 = vector.extract %arg0[1]
        # CHECK-NEXT: "llvm.nvvm.ff.to.e4m3x2.rn"(%1, %0)
        """,
    )


def test_what_overflows_is_distinguished_unless_it_saturates() -> None:
    told = "# CHECK: ff.to.e4m3x2.rn\n# CHECK: arith.addi\n# CHECK: e4m3x2.to.f16"
    checked(narrowing("f8E4M3FN"), on("sm_89"), told)
    for form, attributes in (("f8E4M3FN", SATURATE), ("f4E2M1FN", ""), ("f6E2M3FN", "")):
        not_told = "# CHECK: ff.to.\n# CHECK-NOT: arith.addi\n# CHECK: .to.f16x2"
        checked(narrowing(form, attributes), on("sm_100a"), not_told)


@pytest.mark.parametrize(("form", "name"), [("f16", "f2f16.rn.satfinite"), ("bf16", "f2bf16.rn.satfinite")])
def test_halves_that_saturate(form: str, name: str) -> None:
    for architecture in ("sm_80", "sm_100a"):
        checked(narrowing(form, SATURATE), on(architecture), f'# CHECK: "llvm.nvvm.{name}"(%arg0) : (f32) -> {form}')
        checked(narrowing(form), on(architecture), "# CHECK: arith.truncf %arg0\n# CHECK-NOT: llvm.nvvm")
        vector = f'# CHECK-COUNT-3: "llvm.nvvm.{name}"\n# CHECK-NOT: "llvm.nvvm.{name}"'
        checked(narrowing(form, SATURATE, 3), on(architecture), vector)


@pytest.mark.parametrize(
    ("architecture", "attributes", "name"),
    [
        ("sm_90", "", "f2tf32.rn"),
        ("sm_90", SATURATE, "f2tf32.rn"),
        ("sm_100a", "", "f2tf32.rn"),
        ("sm_100a", SATURATE, "f2tf32.rn.satfinite"),
    ],
)
def test_tf32(architecture: str, attributes: str, name: str) -> None:
    bits = "# CHECK: arith.constant -8192 : i32\n# CHECK-NEXT: arith.andi"
    checked(
        narrowing("tf32", attributes), on(architecture), f'# CHECK: "llvm.nvvm.{name}"(%arg0) : (f32) -> i32\n{bits}'
    )
    clamps = attributes == SATURATE and architecture == "sm_90"
    checked(
        narrowing("tf32", attributes),
        on(architecture),
        ("# CHECK: arith.select" if clamps else "# CHECK-NOT: arith.select") + "\n# CHECK: return",
    )


def test_tf32_of_older_gpus() -> None:
    checked(narrowing("tf32"), on("sm_89"), "# CHECK: func.func @f\n# CHECK-NOT: llvm.nvvm")


def from_integer(kind: str, form: str) -> str:
    return f"func.func @f(%x: {kind}) -> {form} {{ %r = arith.sitofp %x : {kind} to {form} return %r : {form} }}"


@pytest.mark.parametrize(
    ("architecture", "kind", "form", "is_left"),
    [
        ("sm_90", "i32", "bf16", True),
        ("sm_89", "i32", "bf16", False),
        ("sm_89", "i32", "f16", True),
        ("sm_90", "i128", "bf16", False),
        ("sm_90", "i128", "f16", False),
        ("sm_80", "i64", "f16", True),
    ],
)
def test_integers_that_become_halves(architecture: str, kind: str, form: str, is_left: bool) -> None:
    line = f"arith.sitofp %arg0 : {kind} to {form}"
    checked(
        from_integer(kind, form),
        on(architecture),
        f"# CHECK: {line}" if is_left else f"# CHECK-NOT: {line}\n# CHECK: return",
    )


# CPU ----------------------------------------------------------------------------------------------------------------
def cpu(module: Any) -> None:
    attach_signature(module, Signature("f", (), ()))
    expand_narrow_floats(module)


@pytest.mark.parametrize(
    ("line", "is_left"),
    [
        ("arith.truncf %x : f32 to f16", True),
        ("arith.truncf %d : f64 to f16", False),
        ("arith.sitofp %n : i32 to f16", False),
        ("arith.uitofp %n : i32 to f16", False),
        ("math.fma %h, %h, %h : f16", False),
        ("arith.addf %h, %h : f16", True),
        ("arith.extf %h : f16 to f32", True),
        ("arith.addf %b, %b : bf16", False),
        ("arith.truncf %x : f32 to bf16", False),
        ("arith.extf %b : bf16 to f32", True),
        ("arith.bitcast %b : bf16 to i16", True),
        ("arith.constant 1.0 : bf16", True),
    ],
)
def test_what_a_cpu_does(line: str, is_left: bool) -> None:
    kind = line.split(":")[-1].split("to")[-1].strip()
    program = (
        f"func.func @f(%x: f32, %d: f64, %n: i32, %h: f16, %b: bf16) -> {kind} {{ %r = {line} return %r : {kind} }}"
    )
    name = line.split()[0]
    source = line.split(":")[1].strip()
    shown = f"{name} {{{{.*}}}} : {source}"
    if name == "arith.constant":
        shown = "arith.constant 1.0"
    checked(program, cpu, f"# CHECK: {shown}" if is_left else f"# CHECK-NOT: {shown}\n# CHECK: return")


def test_a_cpu_clamps_what_saturates() -> None:
    checked(narrowing("f16", SATURATE), cpu, "# CHECK: arith.select\n# CHECK-NOT: triptych.saturate\n# CHECK: return")
    checked(narrowing("f16"), cpu, "# CHECK-NOT: arith.select\n# CHECK: return")


def test_narrow_floats_cross_as_64_bits() -> None:
    checked(
        "func.func @f(%x: f8E4M3FN, %y: f16, %z: f32) -> (f8E4M3FN, f16) { return %x, %y : f8E4M3FN, f16 }",
        cpu,
        "# CHECK: func.func @f(%arg0: f64, %arg1: f16, %arg2: f32) -> (f64, f16)\n# CHECK-NOT: f8E4M3FN",
    )
