from __future__ import annotations

import ctypes
import math
import random
import struct
import subprocess
import sys

import pytest

from tests.unit.targets.build import CPU, function, lowered, traced
from triptych.ir.errors import LoweringError, WorkerDiedError
from triptych.ir.llvm.loader import load_object
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.objectstage.codegen import codegen
from triptych.objectstage.lower import lower
from triptych.objectstage.target import CompileOptions
from triptych.targets.cpu.runtime.compiler_builtins import with_builtins


@pytest.mark.parametrize("name", ["malloc", "pow", "snprintf", "main", "strlen", "a.b", "<lambda>", "f g", "ünder"])
def test_any_name_may_be_used(name: str) -> None:
    call = function(
        f'func.func @"{name}"(%a: i64) -> i64 {{ %b = arith.addi %a, %a : i64 return %b : i64 }}',
        {"a": "Int64"},
        ("Int64",),
        name=name,
    )
    assert call(21) == 42
    with pytest.raises(TypeError):
        call("x")


def test_lowering_leaves_the_traced_module_alone() -> None:
    given = traced("func.func @f(%a: i32) -> i32 { return %a : i32 }", {"a": "Int32"}, ("Int32",))
    before = str(given.module)
    first, second = lower(given, CPU), lower(given, CPU)
    assert str(given.module) == before
    assert (first.mlir, first.llvm) == (second.mlir, second.llvm)
    assert first.entry == "__tvm_ffi_f"


def test_what_no_pass_lowers_is_an_error_at_the_python_line() -> None:
    text = """
func.func @f(%a: i32) {
  %v = vector.broadcast %a : i32 to vector<4xi32>
  gpu.barrier loc("kernel.py":9:13)
  return
}
"""
    with pytest.raises(LoweringError) as caught:
        lowered(text, {"a": "Int32"})
    assert str(caught.value.span) == "kernel.py:9:13"


def test_a_dying_llvm_is_an_exception_and_the_next_compile_works() -> None:
    text = """
func.func @f() {
  llvm.inline_asm has_side_effects "no such instruction", "" : () -> ()
  return
}
"""
    with pytest.raises(WorkerDiedError):
        function(text, {})
    assert function("func.func @f() { return }", {})() is None


def test_compiled_holds_what_was_asked_for() -> None:
    low = lowered("func.func @f(%a: i32) -> i32 { return %a : i32 }", {"a": "Int32"}, ("Int32",))
    compiled = codegen(low, CPU, CompileOptions(1))
    assert compiled.options["opt_level"] == 1
    assert compiled.artifact
    assert "__tvm_ffi_f:" in compiled.assembly
    assert compiled.assembly is compiled.assembly


INTEGER_OPERATIONS = ["addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minui"]


@pytest.mark.parametrize("width", [4, 8, 16, 32, 64])
def test_levels_agree_on_integers(width: int) -> None:
    """Wrapping arithmetic and guarded division, on random and extreme values, at both ends of the optimiser."""
    kind = f"i{width}"
    lines, last = [], "%a"
    for i, operation in enumerate(INTEGER_OPERATIONS * 2):
        lines.append(f"%v{i} = arith.{operation} {last}, {'%b' if i % 2 else '%a'} : {kind}")
        last = f"%v{i}"
    text = f"""func.func @f(%a: {kind}, %b: {kind}) -> ({kind}, {kind}, {kind}) {{
      %zero = arith.constant 0 : {kind}
      %one = arith.constant 1 : {kind}
      %bad = arith.cmpi sle, %b, %zero : {kind}
      %d = arith.select %bad, %one, %b : {kind}
      %floor = arith.floordivsi %a, %d : {kind}
      %rest = arith.remsi %a, %d : {kind}
      {" ".join(lines)}
      return {last}, %floor, %rest : {kind}, {kind}, {kind} }}"""
    dtype = f"Int{width}"
    slow, fast = (function(text, {"a": dtype, "b": dtype}, (dtype,) * 3, opt_level=level) for level in (0, 3))
    chance = random.Random(width)
    low, high = -(1 << width - 1), (1 << width - 1) - 1
    values = [low, low + 1, -1, 0, 1, high - 1, high] + [chance.randint(low, high) for _ in range(40)]
    for a in values:
        for b in values:
            found = slow(a, b)
            assert found == fast(a, b)
            divisor = b if b > 0 else 1
            assert found[1] == a // divisor
            assert found[2] == int(math.fmod(a, divisor)) or abs(a) > 2**53


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_levels_agree_on_narrow_floats(kind: str) -> None:
    text = f"""func.func @f(%a: {kind}, %b: {kind}) -> ({kind}, f64, {kind}) {{
      %c = arith.addf %a, %b : {kind}
      %d = arith.mulf %c, %b : {kind}
      %e = arith.extf %d : {kind} to f64
      %g = math.exp %a : {kind}
      return %d, %e, %g : {kind}, f64, {kind} }}"""
    dtype = {"f16": "Float16", "bf16": "BFloat16"}[kind]
    slow, fast = (
        function(text, {"a": dtype, "b": dtype}, (dtype, "Float64", dtype), opt_level=level) for level in (0, 3)
    )
    chance = random.Random(1)
    for _ in range(300):
        a, b = chance.uniform(-10, 10), chance.uniform(-10, 10)
        assert slow(a, b) == fast(a, b)


BASELINE = Request(cpu="x86-64", features="", opt_level=3)
"""A machine without a single 16-bit float instruction, so that every helper is used."""


@pytest.mark.skipif(sys.platform != "linux", reason="the helpers are called by x86-64 conventions")
@pytest.mark.parametrize("source", ["float", "double"])
@pytest.mark.parametrize(("target", "letter"), [("half", "e"), ("bfloat", "")])
def test_helpers_round_as_python_does(source: str, target: str, letter: str) -> None:
    text = f"""define i16 @f({source} %x) {{
      %y = fptrunc {source} %x to {target}
      %bits = bitcast {target} %y to i16
      ret i16 %bits }}"""
    code = load_object(shared_pool().compile(BASELINE, with_builtins(text)).object, "f", {})
    argument = ctypes.c_float if source == "float" else ctypes.c_double
    call = ctypes.CFUNCTYPE(ctypes.c_uint16, argument)(code.address)
    chance = random.Random(7)
    for _ in range(20_000):
        value = struct.unpack("<d", struct.pack("<Q", chance.getrandbits(64)))[0]
        if chance.random() < 0.8:
            value = chance.choice([-1, 1]) * chance.random() * 2.0 ** chance.randint(-30, 18)
        if source == "float":
            value = ctypes.c_float(value).value
        assert call(value) == (_half_bits(value) if letter else _bfloat_bits(value)) or math.isnan(value)


def _half_bits(value: float) -> int:
    try:
        return int.from_bytes(struct.pack("<e", value), "little")
    except OverflowError:
        return 0xFC00 if value < 0 else 0x7C00


def _bfloat_bits(value: float) -> int:
    """Compare with the two neighbours exactly: Python's own floats hold every bfloat."""
    if math.isinf(value):
        return 0xFF80 if value < 0 else 0x7F80
    sign = 0x8000 if math.copysign(1.0, value) < 0 else 0

    def decode(bits: int) -> float:
        if bits == 0x7F80:
            return 2.0**128
        return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])

    low, high = 0, 0x7F80
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if decode(middle) <= abs(value) else (low, middle)
    below, above = abs(value) - decode(low), decode(high) - abs(value)
    nearest = low if below < above or (below == above and low % 2 == 0) else high
    return sign | nearest


@pytest.mark.skipif(sys.platform != "linux", reason="the helpers are called by x86-64 conventions")
def test_every_half_widens_exactly() -> None:
    text = """define float @f(i16 %bits) {
      %x = bitcast i16 %bits to half
      %y = fpext half %x to float
      ret float %y }"""
    code = load_object(shared_pool().compile(BASELINE, with_builtins(text)).object, "f", {})
    call = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_uint16)(code.address)
    for bits in range(1 << 16):
        expected = struct.unpack("<e", struct.pack("<H", bits))[0]
        assert call(bits) == expected or (math.isnan(expected) and math.isnan(call(bits)))


FIRST_USE = """
import sys, time
from tests.unit.targets.build import function
print(function("func.func @f(%a: i32) -> i32 { return %a : i32 }", {"a": "Int32"}, ("Int32",))(7))
"""


def test_a_process_that_compiled_ends_quietly() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIRST_USE], capture_output=True, text=True, check=False, timeout=60
    )
    assert (result.stdout, result.stderr, result.returncode) == ("7\n", "", 0)
