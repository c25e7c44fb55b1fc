"""The law of the cache key: change one thing that can reach the compiled code, and key and guard both notice.

Each row is a program and one change made to the running module. Nothing else may be needed to notice it.
"""

from __future__ import annotations

import ast
import builtins
import decimal
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
from tests.laws.key_programs import PROGRAM, READS, SETTINGS
from tests.unit.fingerprint.programs import function_of, key_of, modules, run_in
from triptych.fingerprint.cache_key import Key, diff
from triptych.fingerprint.guards import guards


@pytest.fixture(autouse=True)
def _real_builtins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Some rows change what belongs to the process: put it back."""
    monkeypatch.setattr(builtins, "max", max)
    monkeypatch.setenv("TILE", "8")
    with decimal.localcontext():
        yield


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
    (
        "def f(x):\n    import settings as s\n    return s.TILES",
        "import settings\nsettings.TILES.append(9)",
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
from triptych.fingerprint.cache_key import key_base
import program
for name in sorted(vars(program)):
    if type(vars(program)[name]) is type(program.f):
        _, key = key_base(vars(program)[name], constexprs=dict(c={{"x", "y", program.Colour.RED}}, p=program.PLAIN),
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
    # The environment is another one in each of these processes, and so is the key of what reads it.
    everything = ", ".join(dict.fromkeys(row[0] for row in READS if "os." not in row[0]))
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
