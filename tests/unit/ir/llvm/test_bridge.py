from __future__ import annotations

import random
import re
import struct
import tomllib

import llvmlite.binding as llvm
import pytest

from tests.contracts.tree import ROOT
from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.errors import LoweringError, PackageVersionError
from triptych.ir.llvm import bridge as llvm_bridge
from triptych.ir.llvm.bridge import (
    FORMATS,
    RELEASES,
    WRITTEN_BY,
    FloatFormat,
    check_version,
    downgrade_float_literals,
    literal_bits,
    to_llvm_ir,
    translate,
    with_convergent_assembly,
    without_unused_debug_flag,
)


def test_the_installed_release_is_one_that_is_asked_for() -> None:
    """Bounds are stated where packages are installed from and where the text is rewritten: they are the same."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        asked = tomllib.load(file)["project"]["dependencies"]
    assert RELEASES in asked
    low, high = (int(number) for number in re.findall(r"[0-9]+", RELEASES))
    assert low <= int(bindings.versions()["torch-mlir"].partition(".")[0]) < high


@pytest.mark.parametrize("found", [WRITTEN_BY - 1, WRITTEN_BY + 1])
def test_an_llvm_whose_text_is_not_known_is_refused(found: int) -> None:
    with pytest.raises(PackageVersionError, match=rf"LLVM {found}\b") as raised:
        check_version(found)
    assert RELEASES in raised.value.instead
    check_version(WRITTEN_BY)


def test_the_version_is_looked_at_before_anything_is_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm_bridge, "WRITTEN_BY", WRITTEN_BY + 1)
    llvm_bridge._c_interface.cache_clear()
    with context(), pytest.raises(PackageVersionError, match=f"LLVM {WRITTEN_BY}"):
        translate(bindings.mlir().Module.parse("module {}"))


MLIR_NAMES = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


def bit_patterns(spec: FloatFormat, count: int) -> list[int]:
    """Random patterns, weighted to where printing is difficult: NaN payloads, subnormals, edges of the exponent."""
    chance = random.Random(20_261_114)
    width = 1 + spec.exponent + spec.mantissa
    edges = [0, spec.sign, spec.infinity, spec.sign | spec.infinity, 1, spec.infinity - 1, spec.infinity | 1]
    quiet = spec.infinity | 1 << (spec.mantissa - 1)
    edges += [quiet, quiet | 1, spec.sign | quiet, spec.sign | spec.infinity | 5]
    anything = [chance.getrandbits(width) for _ in range(count // 2)]
    nans = [
        spec.infinity | chance.getrandbits(spec.mantissa) | chance.choice([0, spec.sign]) for _ in range(count // 4)
    ]
    subnormal = [chance.getrandbits(spec.mantissa) | chance.choice([0, spec.sign]) for _ in range(count // 4)]
    return edges + anything + nans + subnormal


@pytest.mark.parametrize("name", FORMATS)
def test_every_bit_pattern_reaches_the_older_llvm_unchanged(name: str) -> None:
    """The law of the bridge: a constant written as bits in MLIR has the same bits after llvmlite parsed the text."""
    spec = FORMATS[name]
    width = 1 + spec.exponent + spec.mantissa
    patterns = bit_patterns(spec, 2000)
    lines = [
        f"llvm.mlir.global external constant @g{i}(0x{bits:0{width // 4}X} : {MLIR_NAMES[name]}) : {MLIR_NAMES[name]}"
        for i, bits in enumerate(patterns)
    ]
    module = bindings.mlir().Module.parse("\n".join(lines), context=context())
    text = to_llvm_ir(module)
    casts = "\n".join(
        f"define i{width} @f{i}() {{ ret i{width} bitcast ({name} {literal} to i{width}) }}"
        for i, literal in enumerate(re.findall(rf"constant {name} (\S+)", text))
    )
    read = str(llvm.parse_assembly(casts))
    found = [int(value) % (1 << width) for value in re.findall(rf"ret i{width} (-?\d+)", read)]
    assert found == patterns


@pytest.mark.parametrize(
    ("name", "literal", "bits"),
    [
        ("float", "1.000000e-01", 0x3DCCCCCD),
        ("float", "f0x3EAAAAAB", 0x3EAAAAAB),
        ("float", "+inf", 0x7F800000),
        ("float", "-nan(0x1)", 0xFFC00001),
        ("float", "+snan(0x1)", 0x7F800001),
        ("half", "-0.000000e+00", 0x8000),
        ("bfloat", "+nan", 0x7FC0),
        ("double", "1.5", struct.unpack("<Q", struct.pack("<d", 1.5))[0]),
    ],
)
def test_known_literals(name: str, literal: str, bits: int) -> None:
    assert literal_bits(FORMATS[name], literal) == bits


@pytest.mark.parametrize(
    "line",
    [
        '@s = constant [9 x i8] c"float 1.5"',
        "  %float = add i32 1, 2 ; float 1.5 inf",
        '  call void @"half 2.0"(i32 3)',
        "  %x = fadd float %inf, %nan",
        "define float @inf.nan(float %0) {",
    ],
)
def test_what_is_not_a_literal_stays(line: str) -> None:
    assert downgrade_float_literals(line) == line


def test_the_flag_goes_only_when_there_is_no_debug_info() -> None:
    alone = '!llvm.module.flags = !{!0}\n\n!0 = !{i32 2, !"Debug Info Version", i32 3}\n'
    assert without_unused_debug_flag(alone).strip() == ""
    two = (
        '!llvm.module.flags = !{!0, !1}\n!0 = !{i32 2, !"Debug Info Version", i32 3}\n!1 = !{i32 7, !"other", i32 1}\n'
    )
    assert without_unused_debug_flag(two) == '!llvm.module.flags = !{!1}\n!1 = !{i32 7, !"other", i32 1}\n'
    used = alone + "!1 = distinct !DICompileUnit(language: DW_LANG_C)\n"
    assert without_unused_debug_flag(used) == used


def test_what_is_not_lowered_raises_instead_of_crashing() -> None:
    module = bindings.mlir().Module.parse(
        'func.func @f(%a: f32) -> f32 { %0 = math.erf %a : f32 loc("kernel.py":7:3)\n return %0 : f32 }',
        context=context(),
    )
    with pytest.raises(LoweringError) as caught:
        translate(module)
    assert "func.func" in caught.value.found or "LLVM" in caught.value.found


INTRINSICS = [
    *("exp", "exp2", "log", "log2", "log10", "sin", "cos", "sqrt", "absf", "floor", "ceil", "round", "roundeven"),
    *("trunc", "tan", "tanh", "sinh", "cosh", "asin", "acos", "atan", "erf", "cbrt", "log1p", "expm1"),
]


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_every_intrinsic_of_the_newer_llvm_is_readable_by_the_older(kind: str) -> None:
    body = "\n".join(f"%{name} = math.{name} %x : {kind}" for name in INTRINSICS)
    module = bindings.mlir().Module.parse(
        f"""func.func @f(%x: {kind}, %n: i32) -> {kind} {{
        {body}
        %a = math.powf %x, %x : {kind}
        %b = math.fma %a, %a, %a : {kind}
        %c = math.copysign %b, %x : {kind}
        %d = arith.maximumf %c, %x : {kind}
        %e = arith.minnumf %d, %x : {kind}
        %g = math.ctpop %n : i32
        %h = math.cttz %g : i32
        %i = math.ctlz %h : i32
        %j = math.absi %i : i32
        %k = arith.sitofp %j : i32 to {kind}
        %l = arith.addf %k, %e : {kind}
        return %l : {kind} }}""",
        context=context(),
    )
    with context():
        bindings.pass_manager().parse("builtin.module(convert-math-to-llvm,convert-math-to-libm,convert-to-llvm)").run(
            module.operation
        )
    llvm.parse_assembly(to_llvm_ir(module)).verify()


def test_assembly_of_whole_warps_is_convergent() -> None:
    """LLVM would write it twice where it follows a branch."""
    lines = [
        '  call void asm sideeffect "wgmma.fence.sync.aligned;", "~{memory}"()',
        '  %2 = call { float, float } asm sideeffect "{ x.sync.aligned {$0, $1}; }", "=f,=f,0,1"(float %0, float %1)',
        '  %3 = call i32 asm "mov.b32 $0, $1;", "=r,r"(i32 %1), !dbg !7',
        '  %4 = call i32 asm "redux.sync.aligned $0, $1;", "=r,r"(i32 %1), !dbg !7',
    ]
    expected = [f"{lines[0]} convergent", f"{lines[1]} convergent", lines[2]]
    expected.append(lines[3].replace(", !dbg", " convergent, !dbg"))
    assert with_convergent_assembly("\n".join(lines)) == "\n".join(expected)
    assert with_convergent_assembly(lines[2]) == lines[2]


def test_only_lines_of_whole_warps_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern over the megabytes of a kernel with WGMMA took a fifth of lowering."""

    class Pattern:
        searched = 0

        def sub(self, _: str, text: str) -> str:
            self.searched += len(text)
            return text

    pattern = Pattern()
    monkeypatch.setattr(llvm_bridge, "_TOGETHER", pattern)
    fence = '  call void asm sideeffect "wgmma.fence.sync.aligned;", "~{memory}"()\n'
    others = "  %2 = load float, ptr %1, align 4\n" * 1000
    assert with_convergent_assembly(others + fence + others) == others + fence + others
    assert pattern.searched == len(fence)
