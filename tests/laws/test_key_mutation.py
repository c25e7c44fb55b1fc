"""The law of the cache key: change one thing that can reach the compiled code, and key and guard both notice.

Each row is a program and one change made to the running module. Nothing else may be needed to notice it.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.differential.choices import RandomChoices
from tests.differential.generator import MAIN, generate
from tests.differential.program import PYTHON_TYPES, loaded
from tests.unit.objectstage.programs import function_of, key_of, modules, run_in
from triptych.objectstage.cache_key import Key, diff
from triptych.objectstage.guards import guards

SETTINGS = """
WIDTH = 4
TILES = [1, 2]
def scale(x): return x * WIDTH
class Policy:
    stages = 2
"""

PROGRAM = """
import collections
import dataclasses
import enum
import functools
import numpy
import settings
from settings import scale as imported_scale

NUMBER = 1
ZERO = 0.0
TEXT = "a"
TUPLE = (1, 2)
LIST = [1, [2]]
DICT = {"a": 1, "b": {"c": 2}}
KEYS = {1: "a", 2: "b"}
SET = {1, 2}
MIXED = (1, [2])
QUEUE = collections.deque([1])
ARRAY = numpy.arange(3)
FLAG = object()
ANNOTATION = int

class Plain:
    limit = 1
    def __init__(self): self.x = 1
    def method(self, v): return v + NUMBER
    @property
    def double(self): return 2 * self.x
    @staticmethod
    def fixed(v): return v + 1
class Derived(Plain): pass
class Slotted:
    __slots__ = ("x",)
    def __init__(self): self.x = 1
class Items(list): pass
class Meta(type):
    level = 1
class WithMeta(metaclass=Meta): pass
class Colour(enum.Enum):
    RED = 1
    def shade(self): return 1
class OtherColour(enum.Enum):
    RED = 2
    def shade(self): return 1
@dataclasses.dataclass
class Record:
    x: int = 1
    y: list = dataclasses.field(default_factory=list)
class Keyed:
    def __init__(self): self.value = 1
    def __cache_key__(self): return self.value

PLAIN, DERIVED, SLOTTED, ITEMS, RECORD, KEYED = Plain(), Derived(), Slotted(), Items([1]), Record(), Keyed()
PLAIN.inner = Plain()

def deepest(x): return x + NUMBER
def helper(x, k=1, *, m=2): return deepest(x) + k + m
def other(x, k=1, *, m=2): return x
def twice(function):
    @functools.wraps(function)
    def wrapper(x): return function(function(x))
    return wrapper
@twice
def wrapped(x): return x + NUMBER
PARTIAL = functools.partial(helper, k=5)
BOUND = PLAIN.method
LAMBDAS = {"add": lambda x: x + NUMBER}
def make(cell):
    def closed(x): return x + cell
    def swap(value):
        nonlocal cell
        cell = value
    return closed, swap
closed, swap = make(1)
closed_list, _ = make([1])
def forever(x): return forever(x - 1) if x else NUMBER
def default(x, op=lambda v: v + 1, items=[1], *, k=1, more=[1]): return op(x)
def textual(x: "ANNOTATION"): return x
"""

READS: list[tuple[str, str, str]] = [
    # what the function returns, the change, the ingredient that differs
    ("NUMBER", "NUMBER = 2", "global NUMBER"),
    ("NUMBER", "NUMBER = True", "global NUMBER"),
    ("NUMBER", "NUMBER = 1.0", "global NUMBER"),
    ("NUMBER", "del NUMBER", "unresolved NUMBER"),
    ("ZERO", "ZERO = -0.0", "global ZERO"),
    ("ZERO", "ZERO = 0", "global ZERO"),
    ("TEXT", "TEXT = b'a'", "global TEXT"),
    ("TUPLE", "TUPLE = (2, 1)", "global TUPLE"),
    ("TUPLE", "TUPLE = [1, 2]", "global TUPLE"),
    ("LIST", "LIST.append(3)", "global LIST"),
    ("LIST", "LIST[1].append(3)", "global LIST"),
    ("LIST", "LIST[0] = 1.0", "global LIST"),
    ("DICT", "DICT['b']['c'] = 3", "global DICT"),
    ("DICT", "DICT['a'] = DICT.pop('a')", "global DICT"),
    ("KEYS", "KEYS[2] = 'c'", "global KEYS"),
    ("KEYS", "KEYS[3] = KEYS.pop(2)", "global KEYS"),
    ("SET", "SET.add(3)", "global SET"),
    ("MIXED", "MIXED[1].append(3)", "global MIXED"),
    ("QUEUE", "QUEUE.append(3)", "global QUEUE"),
    ("ARRAY", "ARRAY[0] = 9", "global ARRAY"),
    ("(FLAG, ZERO)", "ZERO = FLAG", "global ZERO"),
    ("PLAIN", "PLAIN.x = 2", "global PLAIN"),
    ("PLAIN", "PLAIN.y = 2", "global PLAIN"),
    ("PLAIN", "del PLAIN.x", "global PLAIN"),
    ("PLAIN", "PLAIN.inner.x = 2", "global PLAIN"),
    ("PLAIN", "PLAIN.__class__ = Derived", "global PLAIN"),
    ("PLAIN", "Plain.limit = 2", "class program.Plain"),
    ("PLAIN", "Plain.method = lambda self, v: v", "class program.Plain"),
    ("PLAIN", "Plain.double = property(lambda self: 3)", "class program.Plain"),
    ("PLAIN", "Plain.double.fget.__code__ = (lambda self: 3).__code__", "program.Plain.double: source"),
    ("PLAIN", "Plain.fixed = staticmethod(lambda v: v)", "class program.Plain"),
    ("PLAIN.method(1)", "NUMBER = 2", "program.Plain.method: global NUMBER"),
    ("DERIVED", "Plain.limit = 2", "class program.Plain"),
    ("DERIVED", "Derived.limit = 1", "class program.Derived"),
    ("Derived", "Derived.__bases__ = (type('Base', (Plain,), {}),)", "class program.Derived"),
    ("Plain", "Plain.method.__defaults__ = (1,)", "program.Plain.method: defaults"),
    ("WithMeta", "Meta.level = 2", "class program.Meta"),
    ("SLOTTED", "SLOTTED.x = 2", "global SLOTTED"),
    ("SLOTTED", "del SLOTTED.x", "global SLOTTED"),
    ("ITEMS", "ITEMS.append(2)", "global ITEMS"),
    ("ITEMS", "ITEMS.name = 'a'", "global ITEMS"),
    ("Colour", "Colour.shade = lambda self: 2", "class program.Colour"),
    ("Colour.RED", "Colour = OtherColour", "global Colour"),
    ("RECORD", "RECORD.x = 2", "global RECORD"),
    ("RECORD", "RECORD.y.append(2)", "global RECORD"),
    ("Record", "Record.x = 2", "class program.Record"),
    ("KEYED", "KEYED.value = 2", "global KEYED"),
    ("helper(x)", "helper = other", "global helper"),
    ("helper(x)", "helper.__code__ = other.__code__", "program.helper: source"),
    ("helper(x)", "helper.__defaults__ = (2,)", "program.helper: defaults"),
    ("helper(x)", "helper.__defaults__ = (True,)", "program.helper: defaults"),
    ("helper(x)", "helper.__kwdefaults__ = {'m': 3}", "program.helper: keyword defaults"),
    ("helper(x)", "helper.__kwdefaults__['m'] = 3", "program.helper: keyword defaults"),
    ("helper(x)", "helper.__annotations__ = {'x': int}", "program.helper: annotations"),
    ("helper(x)", "helper.__annotations__['x'] = int", "program.helper: annotations"),
    ("helper(x)", "helper.tile = 3", "program.helper: attributes"),
    ("helper(x)", "NUMBER = 2", "program.deepest: global NUMBER"),
    ("helper(x)", "deepest = other", "program.helper: global deepest"),
    ("wrapped(x)", "NUMBER = 2", "program.wrapped#2: global NUMBER"),
    ("PARTIAL(x)", "PARTIAL = functools.partial(helper, k=6)", "global PARTIAL"),
    ("PARTIAL(x)", "PARTIAL.keywords['k'] = 6", "global PARTIAL"),
    ("PARTIAL(x)", "NUMBER = 2", "program.deepest: global NUMBER"),
    ("BOUND(x)", "PLAIN.x = 2", "global BOUND"),
    ("LAMBDAS['add'](x)", "LAMBDAS['add'] = lambda x: x - NUMBER", "program.<lambda>: source"),
    ("LAMBDAS['add'](x)", "NUMBER = 2", "program.<lambda>: global NUMBER"),
    ("closed(x)", "swap(2)", "program.make.<locals>.closed: closure cell"),
    (
        "closed_list(x)",
        "closed_list.__closure__[0].cell_contents.append(2)",
        "program.make.<locals>.closed: closure cell",
    ),
    ("forever(x)", "NUMBER = 2", "program.forever: global NUMBER"),
    ("default(x)", "default.__defaults__ = ((lambda v: v - 1), [1])", "program.<lambda>: source"),
    ("default(x)", "default.__defaults__[1].append(2)", "program.default: defaults"),
    ("default(x)", "default.__kwdefaults__['more'].append(2)", "program.default: keyword defaults"),
    ("textual(x)", "ANNOTATION = float", "program.textual: global ANNOTATION"),
    ("settings.WIDTH", "settings.WIDTH = 5", "global settings.WIDTH"),
    ("settings.TILES", "settings.TILES.append(5)", "global settings.TILES"),
    ("settings.scale(x)", "settings.WIDTH = 5", "settings.scale: global WIDTH"),
    ("settings.scale(x)", "settings.scale = other", "global settings.scale"),
    ("settings.Policy.stages", "settings.Policy.stages = 5", "class settings.Policy"),
    ("settings.absent", "settings.absent = 5", "global settings.absent"),
    ("getattr(settings, 'WIDTH')", "settings.WIDTH = 5", "module settings"),
    ("imported_scale(x)", "settings.WIDTH = 5", "settings.scale: global WIDTH"),
    ("max(x, 1)", "max = min", "global max"),
    ("max(x, 1)", "import builtins\nbuiltins.max = min", "builtin max"),
    ("absent", "absent = 1", "global absent"),
    ("[v + NUMBER for v in x]", "NUMBER = 2", "global NUMBER"),
    ("(lambda v: v + NUMBER)(x)", "NUMBER = 2", "global NUMBER"),
    ("(lambda v=NUMBER: v)(x)", "NUMBER = 2", "global NUMBER"),
]


@pytest.fixture(autouse=True)
def _real_builtins(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row rebinds a builtin: put it back."""
    monkeypatch.setattr(builtins, "max", max)


@pytest.mark.parametrize(("expression", "change", "ingredient"), READS, ids=[f"{row[0]} {row[1]}" for row in READS])
def test_a_change_of_what_is_read_is_noticed(expression: str, change: str, ingredient: str) -> None:
    with modules(settings=SETTINGS, program=f"{PROGRAM}\ndef f(x): return {expression}\n") as made:
        function = function_of(made["program"])
        unchanged, before = guards(function), key_of(function)
        assert unchanged()
        assert key_of(function) == before
        run_in(made["program"], change)
        assert not unchanged()
        after = key_of(function)
        assert after.digest != before.digest
        assert ingredient in diff(before, after)
        assert guards(function)()


OWN: list[tuple[str, str, str]] = [
    ("def f(x, y=1): return x", "f.__defaults__ = (2,)", "defaults"),
    ("def f(x, *, y=1): return x", "f.__kwdefaults__['y'] = 2", "keyword defaults"),
    ("def f(x, op=lambda v: v): return x", "f.__defaults__ = ((lambda v: -v),)", "program.<lambda>: source"),
    ("def f(x: int): return x", "f.__annotations__['x'] = float", "annotations"),
    ("def f(x): return x", "f.__code__ = (lambda x: -x).__code__", "source"),
    ("def f(x): return x", "f.mark = 1", "attributes"),
    ("T = int\ndef f(x):\n    y: T = x\n    return y", "T = float", "global T"),
    ("def f(x):\n    def g(y=N): return y\n    return g(x)\nN = 1", "N = 2", "global N"),
    ("def f(x):\n    class C:\n        n = N\n    return C\nN = 1", "N = 2", "global N"),
    (
        "def f(x):\n    from settings import WIDTH\n    return WIDTH",
        "import settings\nsettings.WIDTH = 9",
        "import settings.WIDTH",
    ),
    (
        "def f(x):\n    import settings as s\n    return s.WIDTH",
        "import settings\nsettings.WIDTH = 9",
        "module settings",
    ),
]


@pytest.mark.parametrize(("text", "change", "ingredient"), OWN, ids=[f"{row[0]} {row[1]}" for row in OWN])
def test_a_change_of_the_function_itself_is_noticed(text: str, change: str, ingredient: str) -> None:
    with modules(settings=SETTINGS, program=text + "\n") as made:
        function = function_of(made["program"])
        unchanged, before = guards(function), key_of(function)
        assert unchanged()
        run_in(made["program"], change)
        assert not unchanged()
        assert ingredient in diff(before, key_of(function))


def key_of_text(text: str) -> Key:
    with modules(program=text) as made:
        return key_of(function_of(made["program"]))


BASE = '''
def f(x):
    """Says something."""
    y: int = x + 1
    if x > 2:
        y = -x
    return y
'''

WRITTEN_OTHERWISE = {
    "operator": ("x + 1", "x - 1"),
    "constant": ("x + 1", "x + 2"),
    "constant type": ("x + 1", "x + True"),
    "comparison": ("x > 2", "x >= 2"),
    "annotation of a local": ("y: int", "y: float"),
    "name of a parameter": ("x", "z"),
    "default": ("f(x)", "f(x=1)"),
    "keyword only": ("f(x)", "f(*, x)"),
    "decorated": ("def f", "@staticmethod\n@(lambda g: g)\ndef f"),
}


@pytest.mark.parametrize("change", WRITTEN_OTHERWISE)
def test_other_code_is_another_source(change: str) -> None:
    text = BASE.replace(*WRITTEN_OTHERWISE[change]).replace("@staticmethod\n", "")
    assert {"source", "defaults"} & set(diff(key_of_text(BASE), key_of_text(text)))


COSMETIC = {
    "comment": ("    if", "    # a comment\n    if"),
    "blank lines": ("    return", "\n\n    return"),
    "docstring": ("Says something.", "Says something else."),
    "spaces": ("x + 1", "x  +  1"),
    "parentheses": ("return y", "return (y)"),
    "lines above": ("\ndef", "\n\n\ndef"),
}


@pytest.mark.parametrize("change", COSMETIC)
def test_cosmetic_changes_move_only_the_position(change: str) -> None:
    assert diff(key_of_text(BASE), key_of_text(BASE.replace(*COSMETIC[change]))) in ([], ["position"])


GIVEN: dict[str, tuple[object, object]] = {
    "constexprs": ({"n": 4}, {"n": 4.0}),
    "signature": (("Int32",), ("Int64",)),
    "options": ({"opt_level": 3}, {"opt_level": 2}),
    "toolchain": ({"llvm": "22.1"}, {"llvm": "22.2"}),
    "target": ("cpu", "nvptx:sm_90a"),
}


@pytest.mark.parametrize("given", GIVEN)
def test_a_change_of_what_is_given_is_noticed(given: str) -> None:
    one, other = ({given: value} for value in GIVEN[given])
    function = test_a_change_of_what_is_given_is_noticed
    assert len(diff(key_of(function, **one), key_of(function, **other))) == 1
    assert key_of(function, **one) != key_of(function, **other)


PRINT_KEY = """
import sys
sys.path[:0] = [{folder!r}, {source!r}]
for name in {first!r}:
    __import__(name)
from triptych.objectstage.cache_key import cache_key
import program
for name in sorted(vars(program)):
    if type(vars(program)[name]) is type(program.f):
        key = cache_key(vars(program)[name], constexprs=dict(c={{"x", "y", program.Colour.RED}}, p=program.PLAIN),
                        signature=("Int32",), options=dict(o=1), toolchain=dict(l="22"), target="cpu")
        assert key.portable
        print(name, key.digest)
"""


def printed_keys(folder: Path, seed: str, first: list[str]) -> str:
    source = str(Path(sys.modules["triptych"].__path__[0]).parent)
    script = PRINT_KEY.format(folder=str(folder), source=source, first=first)
    environment: Mapping[str, str] = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_other_processes_find_the_same_keys(tmp_path: Path) -> None:
    everything = ", ".join(dict.fromkeys(row[0] for row in READS))
    (tmp_path / "settings.py").write_text(SETTINGS)
    (tmp_path / "program.py").write_text(f"{PROGRAM}\ndef f(x): return {everything}\n")
    orders = itertools.cycle([["json", "settings"], ["program"], ["numpy", "decimal", "settings"]])
    printed = {
        printed_keys(tmp_path, seed, first) for seed, first in zip(("0", "1", "77", "random"), orders, strict=False)
    }
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) > 10


def test_generated_programs_never_share_a_key() -> None:
    """0 false hits, and 0 false misses: a key is new exactly when the normalised program is."""
    program_of: dict[str, str] = {}
    digest_of: dict[str, str] = {}
    for seed in range(300):
        program = generate(RandomChoices(seed))
        meaning = ast.dump(ast.parse(program.source))
        with loaded(program, PYTHON_TYPES) as function:
            digest = key_of(function).digest
        assert program_of.setdefault(digest, meaning) == meaning
        assert digest_of.setdefault(meaning, digest) == digest
    assert len(program_of) > 250


def test_generated_edits_change_exactly_the_source() -> None:
    """Every constant of the main function of a generated program, one at a time."""
    edits = 0
    for seed in range(25):
        program = generate(RandomChoices(seed))
        main = [node for node in ast.parse(program.source).body if isinstance(node, ast.FunctionDef)][-1]
        before = key_of_generated(ast.unparse(main))
        for edited in itertools.islice(with_one_constant_changed(main), 8):
            assert set(diff(before, key_of_generated(edited))) - {"position"} == {"source"}
            edits += 1
    assert edits > 100


def key_of_generated(text: str) -> Key:
    types = "from tests.differential.program import PYTHON_TYPES\nglobals().update(PYTHON_TYPES)\n"
    with modules(generated=types + text) as made:
        return key_of(function_of(made["generated"], MAIN))


def with_one_constant_changed(main: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(main):
        if isinstance(node, ast.Constant):
            kept = node.value
            node.value = f"not {kept!r}"
            yield ast.unparse(main)
            node.value = kept
