from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.targets.build import function, traced
from triptych.ir.errors import LoweringError
from triptych.ir.modules import Signature, attach_signature, copy_module
from triptych.support.float_formats import FLOAT_FORMATS
from triptych.targets.cpu.passes.narrow_floats import expand_narrow_floats

NARROW = re.compile(r"\b(f8E\w+|f6E\w+|f4E\w+|tf32)\b")

EVERYTHING = """
func.func private @twice(%x: f8E5M2) -> f8E5M2 {
  %r = arith.addf %x, %x : f8E5M2
  return %r : f8E5M2
}
gpu.module @kernels {
  gpu.func @k(%x: f8E5M2, %v: vector<4xtf32>) kernel { gpu.return }
}
func.func @f(%x: f8E5M2, %n: i32) -> f8E5M2 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %start = arith.constant 0.5 : f8E5M2
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %start) -> (f8E5M2) : i32 {
    %even = arith.remui %i, %one : i32
    %is = arith.cmpi eq, %even, %zero : i32
    %t = scf.if %is -> (f8E5M2) {
      %y = func.call @twice(%x) : (f8E5M2) -> f8E5M2
      %z = arith.addf %s, %y : f8E5M2
      scf.yield %z : f8E5M2
    } else {
      scf.yield %s : f8E5M2
    }
    scf.yield %t : f8E5M2
  }
  %c = arith.cmpf ogt, %sum, %start : f8E5M2
  %chosen = arith.select %c, %sum, %x : f8E5M2
  return %chosen : f8E5M2
}
"""


def expanded(text: str, *parameters: str) -> str:
    """The module after the pass, as text."""
    program = traced(text, dict.fromkeys(parameters, "Float32"))
    module = copy_module(program.module.read())
    attach_signature(module, Signature("f", program.parameters, ()))
    expand_narrow_floats(module)
    module.operation.verify()
    return str(module)


def test_values_move_through_loops_branches_calls_and_kernels() -> None:
    assert not NARROW.search(expanded(EVERYTHING, "x", "n"))


def test_what_is_computed_on_the_way() -> None:
    host = EVERYTHING[: EVERYTHING.index("gpu.module")] + EVERYTHING[EVERYTHING.index("func.func @f") :]
    call = function(host, {"x": "Float8E5M2", "n": "Int32"}, ("Float8E5M2",))
    assert [call(0.25, n) for n in (0, 1, 3, 8)] == [0.25, 1.0, 2.0, 4.0]


def test_modules_without_narrow_floats_are_left_alone() -> None:
    text = "func.func @f(%x: f32, %y: f16) -> f32 { %r = arith.addf %x, %x : f32\n return %r : f32 }"
    assert expanded(text, "x", "y").count("arith") == 1


@pytest.mark.parametrize("name", [name for name in FLOAT_FORMATS if name not in ("f16", "bf16")])
def test_constants_of_every_form(name: str) -> None:
    form = FLOAT_FORMATS[name]
    body, names = "", []
    values = [form.decode(pattern) for pattern in (1, 3, form.largest)]
    dense = ", ".join(f"0x{pattern:X}" for pattern in (1, 3, form.largest, 2))
    body += f"%dense = arith.constant dense<[{dense}]> : vector<4x{name}>\n"
    body += f"%splat = arith.constant dense<0x{form.largest:X}> : vector<4x{name}>\n"
    body += f"%long = arith.constant dense<[{', '.join(['0x3', '0x1'] * 100)}]> : vector<200x{name}>\n"
    body += f"%one = arith.constant 1.0 : {name}\n"
    for vector, size, at in (("dense", 4, 0), ("dense", 4, 1), ("dense", 4, 2), ("splat", 4, 1), ("long", 200, 198)):
        names.append(f"%{vector}{at}")
        body += f"%{vector}{at} = vector.extract %{vector}[{at}] : {name} from vector<{size}x{name}>\n"
    names.append("%one")
    types = ", ".join([name] * len(names))
    dtype = {"tf32": "TFloat32"}.get(name, f"Float{name[1:]}")
    call = function(
        f"func.func @f() -> ({types}) {{\n{body}\n return {', '.join(names)} : {types} }}", {}, (dtype,) * len(names)
    )
    assert call() == (*values, values[2], values[1], 1.0)


def test_a_reduction_rounds_every_step() -> None:
    """16 + 1 stays 16 in Float8E5M2, so the order shows."""
    text = """
func.func @f(%a: f8E5M2, %b: f8E5M2) -> (f8E5M2, f8E5M2, f8E5M2) {
  %v = vector.from_elements %a, %b, %b, %b : vector<4xf8E5M2>
  %w = vector.from_elements %b, %b, %b, %a : vector<4xf8E5M2>
  %r = vector.reduction <add>, %v : vector<4xf8E5M2> into f8E5M2
  %s = vector.reduction <add>, %w : vector<4xf8E5M2> into f8E5M2
  %m = vector.reduction <maximumf>, %w, %a : vector<4xf8E5M2> into f8E5M2
  return %r, %s, %m : f8E5M2, f8E5M2, f8E5M2
}
"""
    call = function(text, {"a": "Float8E5M2", "b": "Float8E5M2"}, ("Float8E5M2",) * 3)
    assert call(16.0, 1.0) == (16.0, 20.0, 16.0)


def test_another_rounding_is_refused() -> None:
    text = "func.func @f(%x: f32) { %r = arith.truncf %x toward_zero : f32 to f8E5M2\n return }"
    with pytest.raises(LoweringError, match="rounds in a way"):
        expanded(text, "x")


@pytest.mark.parametrize(("width", "count"), [(4, 2), (4, 8), (4, 32), (6, 4), (6, 16), (2, 16)])
def test_packed_elements_come_from_the_low_bits_upwards(width: int, count: int) -> None:
    size = count * width // 8
    text = f"""
func.func @f(%a: i64, %b: i64, %c: i64) {{
  %p = llvm.inttoptr %a : i64 to !llvm.ptr
  %q = llvm.inttoptr %b : i64 to !llvm.ptr
  %o = llvm.inttoptr %c : i64 to !llvm.ptr
  %bytes = llvm.load %p {{alignment = 1 : i64}} : !llvm.ptr -> vector<{size}xi8>
  %elements = vector.bitcast %bytes : vector<{size}xi8> to vector<{count}xi{width}>
  %spread = arith.extui %elements : vector<{count}xi{width}> to vector<{count}xi8>
  llvm.store %spread, %q {{alignment = 1 : i64}} : vector<{count}xi8>, !llvm.ptr
  %again = vector.bitcast %elements : vector<{count}xi{width}> to vector<{size}xi8>
  llvm.store %again, %o {{alignment = 1 : i64}} : vector<{size}xi8>, !llvm.ptr
  return
}}
"""
    packed = np.random.default_rng(width).integers(0, 256, size, dtype=np.uint8)
    spread, again = np.zeros(count, np.uint8), np.zeros(size, np.uint8)
    function(text, dict.fromkeys("abc", "Int64"))(*(array.ctypes.data for array in (packed, spread, again)))
    bits = np.unpackbits(packed, bitorder="little").reshape(count, width)
    assert list(spread) == list((bits << np.arange(width)).sum(axis=1))
    assert list(again) == list(packed)


@pytest.mark.parametrize(
    ("name", "count", "word"), [("f4E2M1FN", 8, "i32"), ("f6E3M2FN", 16, "i32"), ("f8E5M2", 4, "i32")]
)
def test_packed_floats_fill_words(name: str, count: int, word: str) -> None:
    form = FLOAT_FORMATS[name]
    words = count * form.width // int(word[1:])
    text = f"""
func.func @f(%a: i64, %b: i64) {{
  %p = llvm.inttoptr %a : i64 to !llvm.ptr
  %q = llvm.inttoptr %b : i64 to !llvm.ptr
  %words = llvm.load %p {{alignment = 1 : i64}} : !llvm.ptr -> vector<{words}x{word}>
  %floats = vector.bitcast %words : vector<{words}x{word}> to vector<{count}x{name}>
  %wide = arith.extf %floats : vector<{count}x{name}> to vector<{count}xf32>
  %half = arith.constant dense<0.5> : vector<{count}xf32>
  %halves = arith.mulf %wide, %half : vector<{count}xf32>
  %rounded = arith.truncf %halves : vector<{count}xf32> to vector<{count}x{name}>
  %packed = vector.bitcast %rounded : vector<{count}x{name}> to vector<{words}x{word}>
  llvm.store %packed, %q {{alignment = 1 : i64}} : vector<{words}x{word}>, !llvm.ptr
  return
}}
"""
    patterns = [k % (form.largest // 2) for k in range(3, 3 + count)]
    packed = sum(pattern << (k * form.width) for k, pattern in enumerate(patterns))
    source = np.frombuffer(packed.to_bytes(count * form.width // 8, "little"), np.uint8).copy()
    target = np.zeros_like(source)
    function(text, dict.fromkeys("ab", "Int64"))(source.ctypes.data, target.ctypes.data)
    expected = [form.encode(form.decode(pattern) / 2) for pattern in patterns]
    assert int.from_bytes(target.tobytes(), "little") == sum(p << (k * form.width) for k, p in enumerate(expected))


# the language ---------------------------------------------------------------------------------------------------------
def test_numbers_of_narrow_types_come_and_go() -> None:
    @tt.jit
    def both(x: tt.Float8E4M3FN, y: tt.Float4E2M1FN) -> Any:
        return x, y, x + y, x > y

    assert both(0.3, 6.0) == (0.3125, 6.0, 6.5, False)
    for x, y in ((0.3, 100.0), (1000.0, 0.0)):
        with pytest.raises(OverflowError):
            both(x, y)


def test_saturating_conversions() -> None:
    @tt.jit
    def narrowed(x: tt.Float32, n: tt.Int32) -> Any:
        plain = x.to(tt.Float8E4M3FN), x.to(tt.Float8E5M2), x.to(tt.BFloat16)
        return (
            *plain,
            x.to(tt.Float8E4M3FN, saturate=True),
            x.to(tt.Float8E5M2, saturate=True),
            x.to(tt.Float16, saturate=True),
            n.to(tt.Float8E4M3FN, saturate=True),
        )

    found = narrowed(-1e6, 500)
    assert math.isnan(found[0])
    assert found[1:] == (-math.inf, -999424.0, -448.0, -57344.0, -65504.0, 448.0)


def test_division_with_floor_rounds_once() -> None:
    @tt.jit
    def floors(x: tt.Float8E5M2, y: tt.Float8E5M2) -> Any:
        return x // y, x % y

    assert floors(-7.0, 2.0) == (-4.0, 1.0)
    assert floors(28.0, 0.75) == (40.0, 0.25)


def test_tf32_is_stored_in_32_bits() -> None:
    @tt.jit
    def bits(x: tt.Float32, n: tt.Uint32) -> Any:
        return x.to(tt.TFloat32).bitcast(tt.Uint32), n.bitcast(tt.TFloat32), x.to(tt.TFloat32) * x.to(tt.TFloat32)

    form = FLOAT_FORMATS["tf32"]
    assert bits(0.1, 0x3F801FFF) == (0x3DCCC000, 1.0, form.round(form.round(0.1) ** 2))


def test_truth_of_a_type_without_zero() -> None:
    @tt.jit
    def truth(x: tt.Float8E8M0FNU) -> Any:
        return 1 if x else 0

    assert truth(2.0**-127) == 1


def test_zero_is_the_smallest_power_of_two_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")

    @tt.jit
    def narrowed(x: tt.Float32, n: tt.Int32) -> Any:
        return x.to(tt.Float8E8M0FNU), x.to(tt.Float8E8M0FNU, saturate=True), n.to(tt.Float8E8M0FNU)

    zeros = torch.tensor([0.0, -0.0])
    assert zeros.to(torch.float8_e8m0fnu).float().tolist() == [2.0**-127] * 2
    assert [narrowed(zero, 0) for zero in (0.0, -0.0)] == [(2.0**-127,) * 3] * 2
    assert float(tt.Float8E8M0FNU(0.0)) == 2.0**-127
    assert all(math.isnan(each) for each in narrowed(-1e-45, -1))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (tt.Float8E4M3FN, 500.0),
        (tt.Float8E4M3FN, math.inf),
        (tt.Float4E2M1FN, math.nan),
        (tt.Float8E8M0FNU, -1.0),
        (tt.Float8E5M2, 1e300),
    ],
)
def test_a_constant_that_the_type_does_not_have_is_refused(dtype: type[tt.Float8E4M3FN], value: float) -> None:
    with pytest.raises(OverflowError):
        dtype(value)


def test_constants_are_rounded() -> None:
    assert float(tt.Float8E4M3FN(0.3)) == 0.3125
    assert float(tt.BFloat16(0.3)) == 0.30078125
    assert float(tt.Float32(1e9).to(tt.Float8E4M3FN, saturate=True)) == 448.0
