from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from types import FunctionType

import pytest

from tests.unit.fingerprint.programs import function_of, modules
from triptych.fingerprint.free_variables import MISSING, Read, reads
from triptych.fingerprint.releases import release
from triptych.fingerprint.tokens import Walk, definition_token


@dataclass(frozen=True, slots=True)
class Dependency:
    """One read and the function that does it (`module.qualname`)."""

    reader: str
    read: Read

    def __str__(self) -> str:
        return f"{self.reader}: {self.read.kind} {self.read.path}"


def dependencies(function: FunctionType) -> tuple[Dependency, ...]:
    """Direct reads first, then those of every function reached through names, closures, classes and values."""
    walk = Walk()
    walk.root(function)
    found: list[Dependency] = []
    for label, definition in walk.mentioned():
        definition_token(definition, walk)
        if isinstance(definition, FunctionType):
            found += (Dependency(label, read) for read in reads(definition))
    return tuple(found)


def read_names(text: str, **others: str) -> set[str]:
    with modules(**others, program=textwrap.dedent(text)) as made:
        return {f"{read.kind} {read.path}" for read in reads(function_of(made["program"]))}


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("return K", {"global K"}),
        ("K = 1\n    return K", set()),
        ("return (lambda: K)()", {"global K"}),
        ("return [K for _ in x]", {"global K"}),
        ("return [x for x in L if x > K]", {"global L", "global K"}),
        ("def g(y=K):\n        return y\n    return g()", {"global K"}),
        ("def g():\n        def h():\n            return K\n        return h\n    return g", {"global K"}),
        ("class C:\n        a = K\n        def m(self):\n            return L\n    return C", {"global K", "global L"}),
        ("return max(x, K)", {"builtin max", "global K"}),
        ("return nothing", {"unresolved nothing"}),
        ("y: K = x\n    return y", {"global K"}),
        ("y: 'K' = x\n    return y", {"global K"}),
        ("y: L[K] = x\n    return y", {"global K", "global L"}),
        ("def g(y: K) -> L:\n        return y\n    return g", {"global K", "global L"}),
        ("global K\n    K = 2", set()),
        ("return K.real", {"global K"}),
    ],
)
def test_names_read(body: str, names: set[str]) -> None:
    found = read_names(f"K = 1\nL = [2]\ndef f(x):\n    {body}\n")
    assert {name for name in found if not name.endswith("__name__")} == names


def test_textual_annotations_are_read() -> None:
    text = """
    from __future__ import annotations
    T = int
    def f(x: T, y: missing.Name): ...
    """
    assert read_names(text) == {"global T", "unresolved missing"}


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("settings.WIDTH", {"global settings.WIDTH"}),
        ("settings.inner.DEPTH", {"global settings.inner.DEPTH"}),
        ("settings.inner.scale(x)", {"global settings.inner.scale"}),
        ("settings.WIDTH.real", {"global settings.WIDTH"}),
        ("settings.absent", {"unresolved settings.absent"}),
        ("getattr(settings, 'WIDTH')", {"global settings", "builtin getattr"}),
        ("[settings.WIDTH, settings]", {"global settings", "global settings.WIDTH"}),
    ],
)
def test_attributes_are_followed_through_modules(expression: str, names: set[str]) -> None:
    text = f"import settings\ndef f(x):\n    return {expression}\n"
    others = {"inner": "DEPTH = 3\ndef scale(x): return x", "settings": "import inner\nWIDTH = 4"}
    assert read_names(text, **others) == names


def test_a_module_in_a_closure_is_followed_too() -> None:
    text = """
    def make():
        import settings
        def f(x):
            return settings.WIDTH
        return f
    f = make()
    """
    assert read_names(text, settings="WIDTH = 4") == {"closure settings.WIDTH"}


def test_imports_inside_the_function_are_read() -> None:
    assert read_names("def f(x):\n    from settings import WIDTH\n    return WIDTH\n", settings="WIDTH = 4") == {
        "import settings.WIDTH"
    }
    assert read_names("def f(x):\n    import settings as s\n    return s.WIDTH\n", settings="WIDTH = 4") == {
        "import settings"
    }
    assert read_names("def f(x):\n    import math, absent\n") == {"import math", "unresolved absent"}


def test_an_empty_cell_is_unresolved() -> None:
    def make() -> object:
        if math.pi < 3:
            later = 1

        return lambda: later

    function = make()
    assert isinstance(function, FunctionType)
    (read,) = reads(function)
    assert (read.kind, read.path, read.value) == ("unresolved", "later", MISSING)


def test_names_made_on_demand_are_found() -> None:
    lazy = "def __getattr__(name):\n    if name == 'WIDTH':\n        return 7\n    raise AttributeError(name)\n"
    with modules(lazy=lazy, program="import lazy\ndef f(x):\n    return lazy.WIDTH\n") as made:
        read, maker = reads(function_of(made["program"]))
    assert (read.path, read.value) == ("lazy.WIDTH", 7)
    assert (maker.path, maker.value) == ("lazy.WIDTH by __getattr__", made["lazy"].__getattr__)


def test_dependencies_go_through_helpers_classes_and_decorators() -> None:
    tools = """
    import functools
    DEEP = 1
    def deepest(x): return x + DEEP
    def doubled(function):
        @functools.wraps(function)
        def wrapper(x): return 2 * function(x)
        return wrapper
    """
    text = """
    import tools
    BIAS = 5
    def helper(x): return tools.deepest(x)
    class Epilogue:
        def apply(self, x): return x + BIAS
    @tools.doubled
    def wrapped(x): return x * SCALE
    SCALE = 3
    TABLE = {"add": lambda x: x + OFFSET}
    OFFSET = 9
    def f(x): return Epilogue().apply(helper(x)) + wrapped(x) + TABLE["add"](x)
    """
    with modules(tools=textwrap.dedent(tools), program=textwrap.dedent(text)) as made:
        found = {str(item) for item in dependencies(function_of(made["program"]))}
    assert {
        "program.f: global helper",
        "program.helper: global tools.deepest",
        "tools.deepest: global DEEP",
        "program.Epilogue.apply: global BIAS",
        "program.wrapped: closure function",
        "program.wrapped#2: global SCALE",
        "program.<lambda>: global OFFSET",
    } <= found


def test_recursion_ends() -> None:
    with modules(program="def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n and even(n - 1)\n") as made:
        assert len(dependencies(function_of(made["program"], "even"))) == 2


def test_a_long_chain_of_helpers_is_followed_to_its_end() -> None:
    links = "".join(f"def f{n}(x): return f{n + 1}(x)\n" for n in range(3000))
    with modules(program=f"{links}def f3000(x): return LAST\nLAST = 1\n") as made:
        assert str(dependencies(function_of(made["program"], "f0"))[-1]) == "program.f3000: global LAST"


def test_code_pinned_by_a_release_is_named() -> None:
    assert release("math") == "python"
    assert release("json.decoder") == "python"
    assert release("triptych.support") == "triptych"
    assert (release("numpy") or "").startswith("numpy ")
    assert release("__main__") is None
    assert release("tests.unit.fingerprint.programs") is None
    assert release("no_such_module") is None


def test_names_that_pytest_adds_to_an_assert_are_no_part_of_the_program() -> None:
    def checked(x: int) -> int:
        assert x > 0
        return x

    assert isinstance(checked, FunctionType)
    added = [name for name in checked.__code__.co_names if not name.isidentifier()]
    assert added, "pytest rewrites assertions of this file"
    assert not {read.path for read in reads(checked)} & set(added)
