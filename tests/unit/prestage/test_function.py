"""Finding the source of a function, and building a new one while the old stays as it is."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from tests.laws.test_rewriting import rewritten
from tests.unit.prestage.sources import function, module
from triptych.hooks import PythonHooks
from triptych.prestage.function import source_of
from triptych.prestage.refuse import NoSourceError
from triptych.prestage.rewrite import rewrite
from triptych.support.errors import TriptychError

COUNTER = '''
from __future__ import annotations
SCALE = 2
def make(start):
    step = 1
    def f(n, m=3, *, k=4) -> int:
        """Count."""
        while n > 0:
            n -= step
            if n == start:
                return n
        return m + k * SCALE
    def change(value):
        nonlocal step
        step = value
    return f, change
f, change = make(100)
'''


def state(original: FunctionType) -> tuple[Any, ...]:
    """Everything a function is made of, and the text of what it was compiled to."""
    code = original.__code__
    return (
        code,
        code.co_code,
        code.co_consts,
        code.co_names,
        original.__closure__,
        [cell.cell_contents for cell in original.__closure__ or ()],
        original.__defaults__,
        original.__kwdefaults__,
        original.__annotations__,
        original.__dict__,
        original.__globals__,
        set(original.__globals__),
    )


def test_the_original_stays_untouched() -> None:
    with function(COUNTER) as original:
        before = state(original)
        new = rewritten(original)
        new(5)
        assert state(original) == before
        assert new is not original
        assert new.__code__ is not original.__code__


def test_the_new_function_is_dressed_like_the_original() -> None:
    with function(COUNTER) as original:
        new = rewritten(original)
        for attribute in ("__name__", "__qualname__", "__doc__", "__module__", "__defaults__", "__kwdefaults__"):
            assert getattr(new, attribute) == getattr(original, attribute)
        assert new.__annotations__ == {"return": "int"}
        assert new.__globals__ is original.__globals__


def test_closure_cells_are_shared() -> None:
    with module(COUNTER) as namespace:
        new = rewritten(namespace["f"])
        assert new(101) == namespace["f"](101) == 100
        namespace["change"](2)
        assert new(101) == namespace["f"](101) == 11
        shared = dict(zip(new.__code__.co_freevars, new.__closure__ or (), strict=True))
        for name, cell in zip(namespace["f"].__code__.co_freevars, namespace["f"].__closure__, strict=True):
            assert shared[name] is cell


def test_globals_are_read_when_used() -> None:
    with module(COUNTER) as namespace:
        new = rewritten(namespace["f"])
        namespace["SCALE"] = 10
        assert new(0) == 43


def test_each_binding_has_hooks_of_its_own() -> None:
    class Backwards(PythonHooks):
        def not_(self, operand: object) -> object:
            return operand

    with function("def f(n):\n    return not n\n") as original:
        one = rewrite(original)
        assert [one.bind(PythonHooks())(0), one.bind(Backwards())(0)] == [True, 0]


def test_functions_that_share_code_are_rewritten_once() -> None:
    with module("def make(k):\n    return lambda n: n and k\none, two = make(1), make(2)\n") as namespace:
        one, two = rewrite(namespace["one"]), rewrite(namespace["two"])
        assert one.code is two.code
        assert (one.bind(PythonHooks())(1), two.bind(PythonHooks())(1)) == (1, 2)
        assert one.source.function is namespace["one"]


def test_equal_code_in_another_file_is_not_the_same_code() -> None:
    text = "def f(n):\n    return n or 1\n"
    with function(text) as one, function(text) as two:
        assert one.__code__ == two.__code__
        assert rewrite(one).code.co_filename != rewrite(two).code.co_filename


def test_an_uninitialized_cell_is_no_obstacle() -> None:
    text = """
    def make():
        def f(n):
            return later if n > 0 else n
        new = rewritten(f)
        later = 5
        return new
    """
    with module(textwrap.dedent(text), rewritten=rewritten) as namespace:
        assert namespace["make"]()(1) == 5


def test_source_is_the_text_from_decorators_to_the_end() -> None:
    text = "def keep(f): return f\n\n@keep\n@keep\ndef f(n):\n    return (n\n        + 1)\n\nx = 1\n"
    with function(text) as original:
        source = source_of(original)
        assert source.text == "@keep\n@keep\ndef f(n):\n    return (n\n        + 1)\n"
        assert (source.first_line, source.file) == (3, original.__code__.co_filename)
        assert rewritten(original)(1) == 2


def test_the_rewritten_text_is_python_that_names_the_hooks() -> None:
    with function("def f(n):\n    return n and (lambda: not n)()\n") as original:
        text = rewrite(original).text
        compile(text, "text", "exec")
        assert text == "def f(n):\n    return _tt.and_((lambda: n, lambda: _tt.call(lambda: _tt.not_(n))))"


# where source comes from ------------------------------------------------------------------------------------------
def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("def f(n):\n    return 1 if n else 2\n")
    namespace: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    assert rewritten(namespace["f"])(0) == 2


def test_a_notebook_cell_run_again() -> None:
    """Each run of a cell is a file of its own, so the older function keeps its older text."""
    with function("def f(n):\n    return n or 1\n") as old, function("def f(n):\n    return n or 2\n") as new:
        assert (rewritten(old)(0), rewritten(new)(0)) == (1, 2)


def test_text_given_to_exec_and_registered() -> None:
    text, file = "def f(n):\n    return n or 3\n", "<typed at a prompt>"
    namespace: dict[str, Any] = {}
    exec(compile(text, file, "exec"), namespace)
    with pytest.raises(NoSourceError, match="is not available"):
        rewrite(namespace["f"])
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        assert rewritten(namespace["f"])(0) == 3
    finally:
        del linecache.cache[file]


def test_text_that_a_loader_has() -> None:
    class Loader:
        def get_source(self, name: str) -> str:
            return "def f(n):\n    return n or name_of_module\n"

    text = Loader().get_source("")
    namespace: dict[str, Any] = {"__name__": "zipped", "__loader__": Loader(), "name_of_module": "zipped"}
    exec(compile(text, "archive.zip/zipped.py", "exec"), namespace)
    assert rewritten(namespace["f"])(0) == "zipped"


def refused(find: Callable[[], object]) -> TriptychError:
    with pytest.raises(NoSourceError) as raised:
        find()
    error = raised.value
    assert error.found
    assert error.expected
    assert error.instead
    return error


def test_no_text_at_all() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x): return x + 1", namespace)
    error = refused(lambda: rewrite(namespace["f"]))
    assert "preprocessor=False" in error.instead


def test_text_of_another_program_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.13 keeps the text of `python -c` under the name that the code of every `exec` has as well."""
    text = "def f(x): return x + 2"
    monkeypatch.setitem(linecache.cache, "<string>", (len(text), None, [text + "\n"], "<string>"))
    namespaces: list[dict[str, Any]] = [{}, {}]
    exec("def f(x): return x + 1", namespaces[0])
    exec(text, namespaces[1])
    error = refused(lambda: rewrite(namespaces[0]["f"]))
    assert "not available" in error.title
    assert "x + 2" in source_of(namespaces[1]["f"]).text


@pytest.mark.parametrize(
    "changed",
    [
        "# a new first line\ndef f(n):\n    return n\n",
        "def g(n):\n    return n\n",
        "def f(n, m):\n    return n\n",
        "x = 1\n",
    ],
)
def test_a_file_that_changed_after_import(tmp_path: Path, changed: str) -> None:
    path = tmp_path / "program.py"
    path.write_text("def f(n):\n    return n\n")
    namespace: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    path.write_text(changed)
    error = refused(lambda: rewrite(namespace["f"]))
    assert "changed" in error.title
    assert error.span is not None
    assert (error.span.file, error.span.line) == (str(path), 1)


def test_a_file_that_does_not_parse_any_more(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("def f(n):\n    return n\n")
    namespace: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    path.write_text("def f(n:\n    return n\n")
    assert "changed" in refused(lambda: rewrite(namespace["f"])).title


# lambdas ----------------------------------------------------------------------------------------------------------
def test_lambdas_of_one_line_are_distinguished() -> None:
    with module("fs = [lambda n: n and 1, lambda n: n or 2, lambda n: not n, lambda n: n and 1]\n") as namespace:
        assert [rewritten(f)(0) for f in namespace["fs"]] == [0, 2, True, 0]
        assert [rewritten(f)(5) for f in namespace["fs"]] == [1, 5, False, 1]


def test_lambdas_in_one_another() -> None:
    with module("f = lambda n: (lambda m: (lambda k: n and m and k))\n") as namespace:
        outer = namespace["f"]
        assert rewritten(outer)(1)(2)(3) == 3
        assert rewritten(outer(1))(2)(0) == 0
        assert rewritten(outer(1)(2))(3) == 3


def test_a_lambda_over_several_lines() -> None:
    with module("f = (\n    lambda n: n\n    if n > 1\n    else -n\n)\n") as namespace:
        assert [rewritten(namespace["f"])(n) for n in (1, 2)] == [-1, 2]
        assert source_of(namespace["f"]).text == "    lambda n: n\n    if n > 1\n    else -n\n"


def test_a_lambda_with_defaults_and_closure() -> None:
    with module("def make(k): return lambda n, m=2, *, z=3: n and m + z + k\nf = make(10)\n") as namespace:
        assert rewritten(namespace["f"])(1) == 15
        assert rewritten(namespace["f"])(1, 3, z=0) == 13


def test_definitions_on_one_line() -> None:
    with module("def f(n): return n or 1\nif True: g = lambda n: n or 2; h = lambda m: m or 3\n") as namespace:
        assert [rewritten(namespace[name])(0) for name in "fgh"] == [1, 2, 3]


def test_the_same_name_at_several_lines() -> None:
    with module("def f(n): return n or 1\ng = f\ndef f(n): return n or 2\n") as namespace:
        assert [rewritten(namespace[name])(0) for name in "gf"] == [1, 2]
