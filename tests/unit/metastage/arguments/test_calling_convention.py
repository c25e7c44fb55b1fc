"""Who may call whom, one test for each row of the table, and everything that `@jit` and `@kernel` may decorate."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import pytest

import triptych as tt
from triptych.metastage.trace.errors import ArgumentBindingError, KernelCallError, StaticRequiredError
from triptych.prestage.refuse import NoSourceError


def jit(function: Any) -> Any:
    """`tt.jit`, whose static type keeps the annotations of the function, for calls with Python numbers."""
    return tt.jit(function)


def plain_square(x: Any) -> Any:
    """A Python function with control flow of its own, so that inlining has to rewrite it."""
    if x < 0:
        return -x * x
    return x * x


@jit
def jit_square(x: tt.Int32) -> Any:
    if x < 0:
        return -x * x
    return x * x


@tt.kernel
def show(x: tt.Int32) -> None:
    tt.printf("%d\n", x)


# the table --------------------------------------------------------------------------------------------------------
def test_python_calls_jit() -> None:
    assert [jit_square(3), jit_square(-3)] == [9, -9]


def test_python_cannot_call_kernel() -> None:
    with pytest.raises(KernelCallError, match="cannot be called from Python") as raised:
        show(3)
    assert raised.value.span is not None
    assert raised.value.span.file == __file__
    assert "show(3)" in raised.value.span.text()
    assert "launch" in raised.value.instead


def test_jit_calls_jit_inlined() -> None:
    @jit
    def outer(x: tt.Int32) -> Any:
        return jit_square(x) + 1

    compiled = tt.compile(outer, 3)
    assert [compiled(3), compiled(-3)] == [10, -8]
    assert compiled.mlir.count("func.func") == 1
    assert "call" not in compiled.mlir


def test_jit_calls_python_inlined() -> None:
    @jit
    def outer(x: tt.Int32) -> Any:
        return plain_square(x) + 1

    compiled = tt.compile(outer, 3)
    assert [compiled(3), compiled(-3)] == [10, -8]
    assert compiled.mlir.count("func.func") == 1


def test_jit_launches_kernel(capfd: pytest.CaptureFixture[str]) -> None:
    @jit
    def host(x: tt.Int32) -> None:
        show(x).launch(grid=(2, 1, 1), block=(3, 1, 1))

    host(7)
    assert capfd.readouterr().out == "7\n" * 6


def test_launch_counts_may_be_run_time_values(capfd: pytest.CaptureFixture[str]) -> None:
    @jit
    def host(x: tt.Int32, blocks: tt.Int32) -> None:
        show(x).launch(grid=blocks, block=2)

    host(7, 2)
    assert capfd.readouterr().out == "7\n" * 4


def test_kernel_without_a_launch_is_refused() -> None:
    @jit
    def host(x: tt.Int32) -> None:
        show(x)

    with pytest.raises(KernelCallError, match="never launched"):
        host(7)


def test_kernel_calls_jit_inlined(capfd: pytest.CaptureFixture[str]) -> None:
    @tt.kernel
    def squares(x: tt.Int32) -> None:
        tt.printf("%d\n", jit_square(x))

    @jit
    def host(x: tt.Int32) -> None:
        squares(x).launch(grid=1, block=1)

    host(-3)
    assert capfd.readouterr().out == "-9\n"


def test_kernel_calls_python_inlined(capfd: pytest.CaptureFixture[str]) -> None:
    @tt.kernel
    def squares(x: tt.Int32) -> None:
        tt.printf("%d\n", plain_square(x))

    @jit
    def host(x: tt.Int32) -> None:
        squares(x).launch(grid=1, block=1)

    host(-3)
    assert capfd.readouterr().out == "-9\n"


def test_kernel_cannot_call_kernel() -> None:
    @tt.kernel
    def outer(x: tt.Int32) -> None:
        show(x).launch(grid=1, block=1)

    @jit
    def host(x: tt.Int32) -> None:
        outer(x).launch(grid=1, block=1)

    with pytest.raises(KernelCallError, match="from another kernel") as raised:
        host(3)
    assert raised.value.span is not None
    assert raised.value.span.function == "outer"
    assert "show(x)" in raised.value.span.text()


def test_jit_called_by_kernel_cannot_call_kernel() -> None:
    @jit
    def between(x: tt.Int32) -> None:
        show(x).launch(grid=1, block=1)

    @tt.kernel
    def outer(x: tt.Int32) -> None:
        between(x)

    @jit
    def host(x: tt.Int32) -> None:
        outer(x).launch(grid=1, block=1)

    with pytest.raises(KernelCallError, match="from another kernel"):
        host(3)


# what may be decorated --------------------------------------------------------------------------------------------
class Scaling:
    """An object whose methods are compiled: `self` is part of the program."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    @jit
    def scale(self, x: tt.Int32) -> Any:
        return x * self.factor

    @jit
    @staticmethod
    def double(x: tt.Int32) -> Any:
        return x * 2

    @staticmethod
    @jit
    def triple(x: tt.Int32) -> Any:
        return x * 3

    @jit
    @classmethod
    def name_length(cls, x: tt.Int32) -> Any:
        return x * len(cls.__name__)

    @classmethod
    @jit
    def name_length_too(cls, x: tt.Int32) -> Any:
        return x * len(cls.__name__)

    @jit
    def __call__(self, x: tt.Int32) -> Any:
        return x + self.factor


class LongScaling(Scaling):
    """A subclass: methods see the object they are called on."""


def test_method_specializes_on_self() -> None:
    assert [Scaling(2).scale(5), Scaling(3).scale(5), Scaling(2).scale(6)] == [10, 15, 12]


def test_method_sees_a_change_of_its_object() -> None:
    scaling = Scaling(2)
    assert scaling.scale(5) == 10
    scaling.factor = 4
    assert scaling.scale(5) == 20


def test_unbound_method() -> None:
    assert Scaling.scale(Scaling(2), 5) == 10


def test_static_methods() -> None:
    assert [Scaling.double(4), Scaling(9).double(4)] == [8, 8]
    assert [Scaling.triple(4), Scaling(9).triple(4)] == [12, 12]


@pytest.mark.parametrize("owner", [Scaling, LongScaling, Scaling(1), LongScaling(1)])
def test_class_methods(owner: Any) -> None:
    cls = owner if isinstance(owner, type) else type(owner)
    assert owner.name_length(2) == owner.name_length_too(2) == 2 * len(cls.__name__)


def test_object_with_a_compiled_call() -> None:
    assert [Scaling(2)(5), Scaling(3)(5)] == [7, 8]


def test_compiled_code_calls_methods_and_objects() -> None:
    scaling = Scaling(2)

    @jit
    def outer(x: tt.Int32) -> Any:
        return scaling.scale(x) + scaling(x) + scaling.double(x) + Scaling.name_length(x)

    assert outer(5) == 10 + 7 + 10 + 35


def test_compiled_code_inlines_python_methods_objects_and_partials() -> None:
    class Absolute:
        def of(self, x: Any) -> Any:
            return -x if x < 0 else x

        def __call__(self, x: Any, y: Any) -> Any:
            return self.of(x) + y

    absolute = Absolute()
    shifted = functools.partial(absolute, y=1)

    @jit
    def outer(x: tt.Int32) -> Any:
        return absolute.of(x), absolute(x, 2), shifted(x), Absolute.of(absolute, x)

    assert outer(-5) == (5, 7, 6, 5)


def test_compile_of_methods_and_objects() -> None:
    scaling = Scaling(2)
    assert tt.compile(scaling.scale, 1)(5) == 10
    assert tt.compile(scaling, 1)(5) == 7
    assert tt.compile(Scaling.double, 1)(5) == 10
    assert tt.compile(LongScaling.name_length, 1)(5) == 5 * len("LongScaling")


def test_compile_of_a_plain_function() -> None:
    assert tt.compile(plain_square, 1)(-3) == -9


def test_closure_is_part_of_the_program() -> None:
    def make(factor: int) -> Callable[[int], Any]:
        @jit
        def scale(x: tt.Int32) -> Any:
            return x * factor

        made: Callable[[int], Any] = scale
        return made

    two, three = make(2), make(3)
    assert [two(5), three(5), two(6)] == [10, 15, 12]


def test_closure_sees_a_changed_cell() -> None:
    factor = 2

    @jit
    def scale(x: tt.Int32) -> Any:
        return x * factor

    assert scale(5) == 10
    factor = 3
    assert scale(5) == 15


def test_lambda() -> None:
    double = jit(lambda x: x * 2 if x > 0 else -x)
    assert [double(4), double(-4)] == [8, 4]
    assert double(1.5) == 3.0


def test_function_with_every_kind_of_parameter() -> None:
    @jit
    def combine(a: tt.Int32, /, b: tt.Int32, *, c: int = 3) -> Any:
        return a * 100 + b * 10 + c

    assert [combine(1, 2), combine(1, b=2), combine(1, 2, c=4), combine(1, c=5, b=6)] == [123, 123, 124, 165]
    with pytest.raises(ArgumentBindingError):
        combine(a=1, b=2)


def test_compiled_function_has_the_defaults_of_its_function() -> None:
    def weighted(x: tt.Int32, y: tt.Int32 = 5, scale: tt.Constexpr[int] = 10, z: Any = 7) -> Any:  # type: ignore[assignment]
        return scale * (100 * x + 10 * y + z)

    compiled: Any = tt.compile(weighted, 1)
    assert [compiled(1), compiled(1, 2), compiled(1, 2, 3), compiled(1, z=3)] == [1570, 1270, 1230, 1530]
    assert jit(weighted)(1) == 1570


def test_parameter_declared_as_a_class_is_part_of_the_program() -> None:
    @jit
    def convert(x: tt.Int32, kind: type[tt.Numeric]) -> Any:
        return kind(x) / 2

    assert [convert(3, tt.Float32), convert(3, tt.Float64)] == [1.5, 1.5]
    assert tt.compile(convert, 3, tt.Float32)(5) == 2.5


def test_constexpr_argument_is_not_part_of_the_signature() -> None:
    @jit
    def power(x: tt.Float64, n: tt.Constexpr[Any]) -> Any:
        return x**n

    assert [power(2.0, 3), power(2.0, 4), power(3.0, 3)] == [8.0, 16.0, 27.0]
    assert tt.compile(power, 2.0, 3)(4.0) == 64.0


def test_constexpr_argument_may_be_a_function_or_a_class() -> None:
    class Relu:
        @staticmethod
        def apply(x: Any) -> Any:
            return max(x, 0)

    @jit
    def epilogue(x: tt.Int32, function: tt.Constexpr[Any], kind: tt.Constexpr[Any]) -> Any:
        return function(kind.apply(x))

    assert [epilogue(5, lambda v: v + 1, Relu), epilogue(-5, lambda v: v + 2, Relu)] == [6, 2]


def test_run_time_value_for_a_constexpr_parameter_of_an_inlined_function_is_one() -> None:
    @jit
    def power(x: tt.Float64, n: tt.Constexpr[Any]) -> Any:
        return x**n

    @jit
    def outer(x: tt.Float64, n: tt.Int32) -> Any:
        return power(x, n)

    assert outer(2.0, 3) == 8.0


# without rewriting, without files ---------------------------------------------------------------------------------
def test_preprocessor_off_only_traces() -> None:
    def total_of(x: tt.Int32) -> Any:
        result = x
        for i in range(3):
            result = result + i
        return result

    total: Any = tt.jit(preprocessor=False)(total_of)

    assert total(4) == 7
    assert "scf" not in tt.compile(total, 4).mlir


def test_preprocessor_off_refuses_a_run_time_condition() -> None:
    absolute: Any = tt.jit(preprocessor=False)(lambda x: x if x > 0 else -x)
    with pytest.raises(StaticRequiredError):
        absolute(4)


SOURCE = "def absolute(x):\n    if x < 0:\n        return -x\n    return x\n"


def _without_file(name: str) -> FunctionType:
    namespace: dict[str, Any] = {}
    exec(compile(SOURCE, name, "exec"), namespace)
    function = namespace["absolute"]
    assert isinstance(function, FunctionType)
    return function


def test_function_without_source_is_refused_with_the_way_out() -> None:
    function: Any = tt.jit(_without_file("<no source>"))
    with pytest.raises(NoSourceError) as raised:
        function(-4)
    assert "preprocessor=False" in raised.value.instead


def test_function_from_linecache_works() -> None:
    name = "<cell 1>"
    linecache.cache[name] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), name)
    function: Any = tt.jit(_without_file(name))
    assert [function(-4), function(5)] == [4, 5]


# the object a decorator makes -------------------------------------------------------------------------------------
def test_decorated_function_still_looks_like_the_function() -> None:
    assert jit_square.__name__ == "jit_square"
    assert jit_square.__module__ == __name__
    assert isinstance(jit_square, tt.JitFunction)


def test_only_functions_are_decorated() -> None:
    with pytest.raises(TypeError, match="decorates functions"):
        jit(3)


@dataclass(frozen=True)
class Config:
    """A configuration object as an argument."""

    width: int


def test_equal_constexpr_objects_mean_the_same_program(capsys: pytest.CaptureFixture[str]) -> None:
    @jit
    def scale(x: tt.Int32, config: tt.Constexpr[Any]) -> Any:
        print(config)
        return x * config.width

    assert [scale(2, Config(3)), scale(2, Config(3)), scale(2, Config(4))] == [6, 6, 8]
    assert capsys.readouterr().out == f"{Config(3)}\n{Config(4)}\n"


def test_temporary_constexpr_objects_are_never_taken_for_one_another() -> None:
    @jit
    def scale(x: tt.Int32, config: tt.Constexpr[Any]) -> Any:
        return x * config.width

    assert [scale(2, Config(n % 7)) for n in range(200)] == [2 * (n % 7) for n in range(200)]


@dataclass(frozen=True)
class AddOne:
    """An object without numbers as an argument."""

    def __call__(self, x: Any) -> Any:
        return x + 1


def test_a_compiled_function_keeps_defaults_that_it_receives_nothing_for() -> None:
    @jit
    def apply(x: tt.Int32, change: Any = AddOne(), other: Any = None) -> Any:
        return change(x)

    compiled = tt.compile(apply, 3)
    assert [compiled(3), compiled(3, AddOne()), compiled(3, change=AddOne())] == [4, 4, 4]
