"""What programs extend the language with, and what public programs pass along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute, cutlass_dsl
from triptych.cutlass_dsl import T, dsl_user_op, extract_mlir_values, new_from_mlir_values
from triptych.prestage.refuse import UnsupportedSyntaxError


@dsl_user_op
def leaky(x: Any, slope: float, *, loc: Any = None, ip: Any = None) -> Any:
    return cute.where(x > 0, x, slope * x, loc=loc, ip=ip)  # type: ignore[call-arg]


def test_places_are_passed_along_and_dropped() -> None:
    @tt.jit
    def apply(x: tt.Float32) -> Any:
        x.ir_value(loc=None, ip=None)
        return leaky(x, 0.5, loc=None, ip=None)

    assert apply(-4.0) == -2.0
    assert apply(4.0) == 4.0


@dsl_user_op
def summed(parts: Any, count: Any, *, loc: Any = None, ip: Any = None) -> Any:
    """A tuple is indexed by the number of a round, which only Python knows."""
    total = parts[0] * 0
    for i in range(count):
        total += parts[i]
    for i in tt.range(count):
        total += parts[i]
    return total


def test_loops_of_operations_run_while_tracing() -> None:
    @tt.jit
    def f(x: tt.Int32) -> Any:
        return summed((x, x + 1, x + 2), 3)

    assert f(1) == 12


def test_an_operation_inside_of_a_function_is_one_like_others() -> None:
    @tt.jit
    def f(x: tt.Int32) -> Any:
        @dsl_user_op
        def summed(count: int, *, loc: Any = None, ip: Any = None) -> Any:
            total = cute.where(x > 0, x, x, loc=loc, ip=ip)  # type: ignore[call-arg]
            for _ in range(count):
                total += x
            return total

        return summed(3)

    assert f(2) == 8


def test_users_functions_keep_their_own_keywords() -> None:
    def shifted(x: Any, loc: int) -> Any:
        return x + loc

    @tt.jit
    def f(x: tt.Int32) -> Any:
        return shifted(x, loc=5)

    assert f(1) == 6


class Counter:
    """Two numbers that cross loops as a class of the program's own."""

    def __init__(self, count: Any, step: Any) -> None:
        self.count = count
        self.step = step

    def __extract_mlir_values__(self) -> list[Any]:
        return extract_mlir_values(self.count) + extract_mlir_values(self.step)

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Counter:
        return Counter(new_from_mlir_values(self.count, [values[0]]), new_from_mlir_values(self.step, [values[1]]))


def test_class_of_mlir_values_crosses_a_loop() -> None:
    @tt.jit
    def run(n: tt.Int32) -> Any:
        counter = Counter(tt.Int32(0), n)
        for i in range(n):
            counter = Counter(counter.count + i, counter.step)
        return counter.count * counter.step

    assert run(4) == 24


def test_values_of_a_tensor_make_a_tensor() -> None:
    @tt.jit
    def run(a: cute.Tensor) -> Any:
        again = new_from_mlir_values(a, extract_mlir_values(a))
        return again[1] + a[0]

    assert run(np.array([3, 4], np.int32)) == 7


def test_types(capsys: Any) -> None:
    @tt.jit
    def run() -> None:
        print(T.bool(), T.i32(), T.bf16(), T.vector(4, T.f32()))

    run()
    assert capsys.readouterr().out == "i1 i32 bf16 vector<4xf32>\n"


@pytest.mark.parametrize("name", ["for_generate"])
def test_control_flow_by_hand_is_refused(name: str) -> None:
    build = getattr(cutlass_dsl, name)

    @tt.jit
    def run() -> None:
        build(3)

    with pytest.raises(UnsupportedSyntaxError, match="by hand"):
        run()


# arguments of public programs -------------------------------------------------------------------------------------
@tt.kernel
def sum_kernel(inputs: list[cute.Tensor], out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    total = inputs[0][thread]
    for each in inputs[1:]:
        total = total + each[thread]
    out[thread] = total


@tt.jit
def sum_all(inputs: list[cute.Tensor], out: cute.Tensor) -> None:
    sum_kernel(inputs, out).launch(grid=1, block=cute.size(out))


def test_list_of_tensors_is_an_argument() -> None:
    arrays = [np.arange(8, dtype=np.float32) * k for k in range(3)]
    out = np.zeros(8, np.float32)
    sum_all(arrays, out)
    np.testing.assert_array_equal(out, sum(arrays))
    sum_all(arrays[:2], out)
    np.testing.assert_array_equal(out, arrays[1])
    compiled = tt.compile(sum_all, arrays, out)
    compiled(arrays, out)
    np.testing.assert_array_equal(out, sum(arrays))


@pytest.mark.parametrize(("dtype", "kind"), [(tt.Float16, tt.Float), (tt.Int8, tt.Integer), (tt.Boolean, tt.Integer)])
def test_kinds_of_numbers(dtype: Any, kind: Any) -> None:
    other = tt.Integer if kind is tt.Float else tt.Float
    assert issubclass(dtype, kind)
    assert not issubclass(dtype, other)
    assert isinstance(dtype(1), kind)
    assert dtype.is_float == (kind is tt.Float)
    assert dtype.is_integer == (kind is tt.Integer)
    assert issubclass(dtype, tt.Numeric)


def test_annotation_of_a_kind_takes_any_of_it() -> None:
    @tt.jit
    def half(x: cute.Float) -> Any:
        return x / 2

    assert half(3.0) == 1.5
    assert half(tt.Float64(3.0)) == 1.5
