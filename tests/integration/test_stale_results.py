"""A compiled function notices what changed since it was compiled: static parts of arguments, their classes, its source.

What definitions read is the law of `tests/laws/test_key_mutation.py`; `tests/differential/test_stale_programs.py` draws
programs.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import importlib
import linecache
import sys
import textwrap
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import triptych as tt
from tests.unit.fingerprint.programs import function_of, modules
from triptych.driver import compile_stages
from triptych.fingerprint.primitive_tokens import LargeArrayError
from triptych.objectstage.codegen import codegen
from triptych.prestage.refuse import NoSourceError, SourceChangedError
from triptych.support.errors import TriptychError


class Factor:
    value = 2


@dataclasses.dataclass
class Point:
    x: int

    def scaled(self) -> Any:
        return self.x * Factor.value


class Pair(NamedTuple):
    x: int

    def scaled(self) -> Any:
        return self.x * Factor.value


@pytest.mark.parametrize("kind", [Point, Pair])
def test_the_class_of_a_dynamic_argument(kind: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    @tt.jit
    def scaled(p: Any) -> Any:
        return p.scaled()

    assert [scaled(kind(3)) for _ in range(2)] == [6, 6]
    monkeypatch.setattr(Factor, "value", 5)
    assert [scaled(kind(3)) for _ in range(2)] == [15, 15]
    monkeypatch.setattr(kind, "scaled", lambda self: self.x + 100)
    assert [scaled(kind(3)) for _ in range(2)] == [103, 103]


def test_attributes_of_a_dataclass_that_are_no_fields() -> None:
    @dataclasses.dataclass
    class Scaled:
        x: int

        def __post_init__(self) -> None:
            self.factors = [2]

    @tt.jit
    def product(p: Any) -> Any:
        return p.x * p.factors[0]

    one, other = Scaled(3), Scaled(3)
    assert [product(one) for _ in range(2)] == [6, 6]
    other.factors = [5]
    assert product(other) == 15
    one.factors[0] = 7
    assert product(one) == 21


class Parts:
    """The argument protocol, with a static attribute beside the dynamic one."""

    def __init__(self, x: Any, static: Any) -> None:
        self.x, self.static = x, static

    def __jit_parts__(self) -> tuple[Any, ...]:
        return (self.x,)

    def __from_jit_parts__(self, parts: Sequence[Any]) -> Parts:
        return Parts(parts[0], self.static)


class Pointers:
    """The argument protocol of public programs."""

    def __init__(self, x: Any, static: Any) -> None:
        self.x, self.static = x, static

    def __c_pointers__(self) -> list[Any]:
        return [self.x]

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Pointers:
        return Pointers(values[0], self.static)

    def __extract_mlir_values__(self) -> list[Any]:
        return [self.x]


class SlottedParts(Parts):
    __slots__ = ("extra",)

    def __init__(self, x: Any, static: Any) -> None:
        self.x, self.extra = x, static

    def __from_jit_parts__(self, parts: Sequence[Any]) -> Parts:
        return Parts(parts[0], self.extra)


PROTOCOLS = pytest.mark.parametrize("kind", [Parts, Pointers, SlottedParts])


@PROTOCOLS
def test_the_static_part_of_an_argument(kind: type[Any]) -> None:
    @tt.jit
    def product(p: Any) -> Any:
        return p.x * p.static

    for _ in range(2):
        assert [product(kind(5, factor)) for factor in (2, 3, 7, 5)] == [10, 15, 35, 25]
        assert [product(kind(x, 2)) for x in (1, 2, 3)] == [2, 4, 6]


@PROTOCOLS
def test_a_static_part_that_is_the_same_object_as_a_dynamic_one(kind: type[Any]) -> None:
    """Small integers are one object each: being the same one does not make an attribute dynamic."""

    @tt.jit
    def product(p: Any) -> Any:
        return p.x * p.static

    assert [product(kind(n, n)) for n in (2, 3, 4, 2)] == [4, 9, 16, 4]


@PROTOCOLS
def test_static_parts_that_are_equal_but_not_the_same(kind: type[Any]) -> None:
    @tt.jit
    def length(p: Any) -> Any:
        return p.x + len(repr(p.static))

    for _ in range(2):
        assert [length(kind(0, value)) for value in (1, True, 1.0, 0.0, -0.0)] == [1, 4, 3, 3, 4]


@PROTOCOLS
def test_a_list_in_the_static_part(kind: type[Any]) -> None:
    @tt.jit
    def product(p: Any) -> Any:
        return p.x * p.static[0]

    table = [2]
    assert [product(kind(5, table)) for _ in range(2)] == [10, 10]
    table[0] = 3
    assert [product(kind(5, table)) for _ in range(2)] == [15, 15]
    assert [product(kind(5, [n])) for n in (4, 5)] == [20, 25]


@PROTOCOLS
def test_dynamic_parts_do_not_compile_again(kind: type[Any]) -> None:
    @tt.jit
    def product(p: Any) -> Any:
        return p.x * p.static

    assert [product(kind(x, 3)) for x in range(20)] == [3 * x for x in range(20)]
    assert product.compile(kind(1, 3)) is product.compile(kind(2, 3))


def test_annotations_that_change() -> None:
    @tt.jit
    def third(x: tt.Int32) -> Any:
        return x / 3

    @tt.jit
    def outer(x: tt.Float64) -> Any:
        return third(x)

    assert third(1) != 1 / 3
    third.function.__annotations__["x"] = tt.Float64
    assert third(1) == outer(1.0) == 1 / 3


KIND: Any = tt.Int32


def test_an_annotation_in_text_whose_name_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    @tt.jit
    def third(x: KIND) -> Any:
        return x / 3

    assert third(1) != 1 / 3
    monkeypatch.setitem(globals(), "KIND", tt.Float64)
    assert third(1) == 1 / 3


def test_an_adapter_that_changes() -> None:
    class Foreign:
        pass

    @tt.jit
    def increased(x: Any) -> Any:
        return x + 1

    tt.register_jit_arg_adapter(Foreign)(lambda _: 1)
    assert [increased(Foreign()) for _ in range(2)] == [2, 2]
    tt.register_jit_arg_adapter(Foreign)(lambda _: 2.5)
    assert [increased(Foreign()) for _ in range(2)] == [3.5, 3.5]


def test_equal_lists_are_distinguished_by_identity() -> None:
    table = [1]

    @tt.jit
    def which(x: tt.Int32, c: tt.Constexpr[Any]) -> Any:
        return x + (1 if c is table else 2)

    for _ in range(2):
        assert [which(0, table), which(0, [1]), which(0, table)] == [1, 2, 1]


def test_tuples_of_constants_are_known_by_value() -> None:
    @tt.jit
    def kinds(x: tt.Int32, c: tt.Constexpr[Any]) -> Any:
        return x + len(repr(c))

    for _ in range(3):
        for value in ((1,), (True,), (1.0,), (0.0, (1, "a")), (-0.0, (1, "a")), ()):
            assert kinds(0, (*value,)) == len(repr(value))
    assert len(kinds._entries) == 6


def test_what_the_traced_function_assigns_is_no_second_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel:
        @functools.cached_property
        def tile(self) -> int:
            return 4

        @tt.jit
        def run(self, x: tt.Int32) -> Any:
            return x * self.tile

    generated: list[Any] = []
    monkeypatch.setattr(compile_stages, "codegen", _noting(generated, codegen))
    kernel = Kernel()
    assert [kernel.run(2) for _ in range(3)] == [8, 8, 8]
    assert len(generated) == 1
    kernel.tile = 5
    assert [kernel.run(2) for _ in range(2)] == [10, 10]
    del kernel.tile
    assert [kernel.run(2) for _ in range(2)] == [8, 8]


def _noting(seen: list[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*args: Any) -> Any:
        seen.append(args)
        return function(*args)

    return noted


def test_a_counter_counts_at_each_call() -> None:
    """Tracing changes what was read, so every call traces: as in Python."""
    counter = [0]

    @tt.jit
    def counted(x: tt.Int32) -> Any:
        counter[0] += 1
        return x + counter[0]

    assert [counted(0) for _ in range(4)] == [1, 2, 3, 4]


def test_watching_a_weak_reference_keeps_nothing_alive() -> None:
    class Config:
        factor = 3

    config = Config()
    reference = weakref.ref(config)

    @tt.jit
    def scaled(x: tt.Int32) -> Any:
        found = reference()
        return x * (100 if found is None else found.factor)

    assert [scaled(1) for _ in range(2)] == [3, 3]
    config.factor = 4
    assert [scaled(1) for _ in range(2)] == [4, 4]
    del config
    gc.collect()
    assert [scaled(1) for _ in range(2)] == [100, 100]


def test_large_arrays_are_refused_unless_they_are_read_only() -> None:
    array = np.zeros(200_000)

    @tt.jit
    def sized(x: tt.Int32) -> Any:
        return x + array.shape[0]

    with pytest.raises(LargeArrayError) as caught:
        sized(1)
    assert "closure array" in caught.value.found
    array.flags.writeable = False
    assert [sized(1) for _ in range(2)] == [200_001] * 2
    array.flags.writeable = True
    with pytest.raises(LargeArrayError):
        sized(1)


def test_a_view_of_a_large_array_is_no_owner() -> None:
    base = np.zeros(200_000)
    view = base[:]
    view.flags.writeable = False

    @tt.jit
    def sized(x: tt.Int32) -> Any:
        return x + view.shape[0]

    with pytest.raises(LargeArrayError):
        sized(1)


def test_wrappers_of_other_functions_can_be_compiled() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @tt.jit
    @logged
    def increased(x: int) -> Any:
        return x + 1

    assert [increased(1), increased(2), increased(2.5)] == [2, 3, 3.5]


PROGRAM = """
import sys
import numpy

GENERATOR = numpy.random.default_rng(0)
FACTOR = 2

def f(x): return x + (100 if {read} else 1)
"""


@pytest.mark.parametrize("read", ["GENERATOR is None", "globals()['FACTOR'] == 0", "len(sys.modules) == 0"])
def test_unusual_objects_can_be_read(read: str) -> None:
    with modules(unusual=PROGRAM.format(read=read)) as made:
        assert tt.jit(function_of(made["unusual"]))(1) == 2


# source ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def _import(folder: Path, name: str, text: str) -> ModuleType:
    _write(folder, name, text)
    importlib.invalidate_caches()
    return importlib.import_module(name)


def _write(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.py").write_text(textwrap.dedent(text))


def test_a_file_that_is_edited_after_import_is_compiled_as_it_was(folder: Path) -> None:
    text = """
    import triptych as tt
    @tt.jit
    def f(x: tt.Int32):
        return x + 1
    """
    module = _import(folder, "edited_jit", text)
    _write(folder, "edited_jit", text.replace("x + 1", "x + 2"))
    linecache.checkcache()
    assert module.f(1) == 2
    importlib.reload(module)
    assert module.f(1) == 3


HELPER = """
def h(x):
    if x > 0:
        return x + 1
    return x
"""


def test_a_function_that_is_compiled_after_its_file_was_edited(folder: Path) -> None:
    module = _import(folder, "edited_before", HELPER)
    _write(folder, "edited_before", HELPER.replace("x + 1", "x + 2"))
    with pytest.raises(SourceChangedError) as caught:
        tt.jit(module.h)(1)
    assert isinstance(caught.value, NoSourceError)
    _write(folder, "edited_before", HELPER)
    assert tt.jit(module.h)(1) == 2


@pytest.mark.parametrize("text", [HELPER, "def h(x):\n    return x + 1\n"], ids=["with control flow", "without"])
def test_a_helper_whose_file_is_edited_after_import(folder: Path, text: str) -> None:
    """Without its text it is traced as Python runs it; control flow of run-time values is then an error."""
    helper = _import(folder, "edited_helper", text).h
    _write(folder, "edited_helper", text.replace("x + 1", "x + 2"))

    @tt.jit
    def f(x: tt.Int32) -> Any:
        return helper(x)

    if text == HELPER:
        with pytest.raises(TriptychError):
            f(1)
    else:
        assert f(1) == 2


def test_another_line_that_is_edited_does_no_harm(folder: Path) -> None:
    text = "def h(x):\n    return x + 1\n\n\nTABLE = 1\n"
    helper = _import(folder, "edited_elsewhere", text).h
    _write(folder, "edited_elsewhere", text.replace("TABLE = 1", "TABLE = 2"))

    @tt.jit
    def f(x: tt.Int32) -> Any:
        return helper(x)

    assert f(1) == 2


def test_a_file_that_is_edited_between_two_specializations(folder: Path) -> None:
    text = "def h(x):\n    return x + 1\n"
    helper = _import(folder, "edited_later", text).h

    @tt.jit
    def f(x: Any) -> Any:
        return helper(x)

    assert f(1) == 2
    _write(folder, "edited_later", text.replace("x + 1", "x + 2"))
    assert f(1.5) == 2.5
