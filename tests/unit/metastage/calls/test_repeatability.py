"""Programs that the store keeps, and why it does not keep the others."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import triptych as tt
from tests.unit.fingerprint.programs import function_of, modules
from triptych.support.config import override

ORDER = "shows the order of a set"
ADDRESS = "shows the address"
CALLS = "calls what it is given"
ANSWERS = "may answer otherwise in another process"
PAST = "which the key does not have"
CHANGES = "tracing changes what it reads: global "

HEAD = """
import abc, bisect, codecs, collections, copy, dataclasses, functools, heapq, inspect, itertools, operator, os, sys
import weakref
import numpy as np
NAMES, NUMBERS, TEXTS = {"alpha", "beta", "gamma"}, {3, 1, 2}, ["a", "b"]
class Thing:
    'A thing.'
    def __init__(self): self.names, self.value = {"a", "b"}, 1
    @functools.cached_property
    def late(self): return 5
    def __eq__(self, other): return self is other
    def __hash__(self): return hash("thing")
THING, SENTINEL = Thing(), object()
Pair = collections.namedtuple("Pair", "a b")
class Longer(Pair): pass
class Made(Pair):
    def __new__(cls, a): return super().__new__(cls, a, 2)
@dataclasses.dataclass(frozen=True)
class Frozen: value: object; more: int = 3
@dataclasses.dataclass(slots=True)
class Slotted: value: object; more: list = dataclasses.field(default_factory=list)
@dataclasses.dataclass
class Checked:
    value: object
    def __post_init__(self): self.more = hash("a")
@dataclasses.dataclass
class Asking: value: object; more: int = dataclasses.field(default_factory=lambda: hash("a"))
@dataclasses.dataclass
class Watching:
    value: object
    def __setattr__(self, name, value): object.__setattr__(self, name, hash("a") % 7)
@dataclasses.dataclass
class Described:
    value: object
    @property
    def more(self): return 1
    @more.setter
    def more(self, given): self.given = hash("a")
    __annotations__["more"] = int
Described = dataclasses.dataclass(Described)
LIST, TABLE, QUEUE, ARRAY, STEPS = [3, 1, 2], {}, collections.deque([1]), np.arange(3), iter([1, 2, 3])
"""


SHOWING = """
x += list(NAMES)[0] == 'alpha'
[n for n in NAMES]
a, *b = NAMES
[*NAMES]
set(NAMES).pop()
''.join(NAMES)
str(NAMES)
f'{NAMES}'
'%s' % (NAMES,)
str([NAMES])
sorted(NAMES, key=len)
LIST[:] = NAMES
own = []; own += NAMES
own = []; own.extend(NAMES)
iter(NAMES)
dict.fromkeys(NAMES)
list(zip(NAMES, LIST))
'{}'.format(NAMES)
min(NAMES, key=lambda n: 0)
[n for n in {Thing, int, str}]
list({'a': 1, 'b': 2}.keys() & {'a', 'b'})
"""

BLIND = """
x += len(NAMES) + ('alpha' in NAMES)
x += len(sorted(NAMES))
x += [*NUMBERS][0]
x += len(NAMES | {'z'})
x += max(NUMBERS)
x += NAMES == {'z'}
own = {n for n in NUMBERS}; x += sum(own)
own = []; own.append(NAMES)
x += isinstance(THING, Thing)
x += len(Thing.__name__)
x += len(f'{NUMBERS} {LIST}')
copy.copy(LIST)
x += sum(map(lambda n: n + 1, LIST))
x += sorted(LIST, key=lambda n: -n)[0]
dict.fromkeys(LIST)
x += Pair(x, 1).a
x += Longer(b=1, a=x).a
x += Frozen(x).value
x += Slotted(x).value + len(Slotted(x).more)
x += dataclasses.replace(Frozen(x), more=4).value
"""

PROCESS = {
    "x += Made(x).a": ANSWERS,
    "x += Checked(x).value": ANSWERS,
    "x += Asking(x).value": ANSWERS,
    "x += Watching(x).value": ANSWERS,
    "x += Described(x).value": ANSWERS,
    "x += hash('a') % 7": ANSWERS,
    "x += 'a'.__hash__() % 7": ANSWERS,
    "x += id(THING) % 7": ANSWERS,
    "x += hash(THING) % 7": ANSWERS,
    "x += os.getpid() % 7": ANSWERS,
    "__import__('sys')": ANSWERS,
    "x += len(inspect.getsource(Thing.late.func))": ANSWERS,
    "list(map(hash, TEXTS))": CALLS,
    "sorted(TEXTS, key=id)": CALLS,
    "repr(SENTINEL)": ADDRESS,
    "f'{SENTINEL}'": ADDRESS,
    "'%r' % SENTINEL": ADDRESS,
    "x += len(sys.modules['once'].NAMES)": PAST,
    "x += len(Thing.__doc__)": PAST,
    "s = sys; x += len(s.argv)": PAST,
}

CHANGING = """
LIST.append(1)
TABLE['a'] = 1
TABLE.update(a=1)
heapq.heappush(LIST, 0)
bisect.insort(LIST, 2)
ARRAY[0] = 5
ARRAY.fill(7)
np.add(ARRAY, 1, out=ARRAY)
next(STEPS)
THING.late
QUEUE.append(2)
THING.names.add('c')
LIST.sort()
del LIST[0]
LIST[:1] = []
[LIST.append(i) for i in (1, 2)]
"""


def unkept(lines: str) -> str:
    """Why the store does not keep a function that runs some lines while it is traced."""
    body = "\n    ".join(lines.split("; "))
    with modules(once=f"{HEAD}\ndef f(x):\n    {body}\n    return x\n") as made:
        return tt.jit(opt_level=0)(function_of(made["once"])).compile(1).unkept


@pytest.mark.parametrize("lines", SHOWING.strip().splitlines())
def test_a_program_that_shows_the_order_of_a_set_is_not_kept(lines: str) -> None:
    assert ORDER in unkept(lines)


@pytest.mark.parametrize("lines", BLIND.strip().splitlines())
def test_a_program_that_does_not_is_kept(lines: str) -> None:
    assert unkept(lines) == ""


@pytest.mark.parametrize(("lines", "reason"), PROCESS.items())
def test_a_program_that_depends_on_its_process_is_not_kept(lines: str, reason: str) -> None:
    assert reason in unkept(lines)


@pytest.mark.parametrize("lines", CHANGING.strip().splitlines())
def test_a_program_that_changes_what_outlives_its_trace_is_not_kept(lines: str) -> None:
    name = next(name for name in ("LIST", "TABLE", "ARRAY", "STEPS", "THING", "QUEUE") if name in lines)
    assert unkept(lines).startswith(CHANGES + name)


def test_assigned_attributes_are_named() -> None:
    assert unkept("THING.value = 3") == "tracing assigns the attribute `Thing.value`"


def test_random_bytes_are_refused_as_random_numbers_are() -> None:
    with pytest.raises(tt.TriptychError, match="would be called once, while tracing"):
        unkept("x += os.urandom(1)[0]")


def test_the_log_and_explain_miss_say_why(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = f"{HEAD}\ndef f(x):\n    LIST.append(1)\n    return x\n"
    with modules(once=lines) as made, override(cache=True, cache_dir=str(tmp_path)):
        function = tt.jit(opt_level=0)(function_of(made["once"]))
        with caplog.at_level(logging.INFO, "triptych.cache"):
            function(1)
        miss = function.explain_miss(1)
    assert [record.message for record in caplog.records if "f: tracing changes" in record.message]
    assert not miss.is_kept
    assert miss.reason == "tracing changes what it reads: global LIST"
    assert "every process traces it" in str(miss)


@pytest.mark.parametrize(
    "first", ["FIRST.__doc__", "inspect.getdoc(FIRST)", 'pkgutil.resolve_name("asked:FIRST").__doc__']
)
def test_each_of_two_questions_with_one_name_is_asked_again(first: str) -> None:
    """Both classes are called `Held`, so that both questions read alike."""
    lines = f"""
import inspect, pkgutil
import triptych as tt
FIRST, SECOND = (type("Held", (), {{"__doc__": text}}) for text in "12")
@tt.jit(opt_level=0)
def f(x: tt.Int32): return x + int({first}) + 10 * int({first.replace("FIRST", "SECOND")})
"""
    with modules(asked=lines) as made:
        asked = made["asked"]
        assert asked.f(0) == 21
        asked.FIRST.__doc__ = "3"
        assert asked.f(0) == 23
        asked.SECOND.__doc__ = "4"
        assert asked.f(0) == 43
