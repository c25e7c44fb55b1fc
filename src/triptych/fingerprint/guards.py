"""Guards of a compiled function: has anything that was read changed since?

A warm call must not compute a key. Whatever a key depends on is reached through names, cells and attributes, and every
one of them is compared by identity in one generated expression; only values that hide their content are read again.
A guard may report a change that makes no difference (the key then comes out equal); it never misses one that does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from operator import is_
from types import FunctionType, MappingProxyType, ModuleType

from triptych.fingerprint.contents import MOST_BYTES, as_buffer, is_settled, same_state, size_in_bytes
from triptych.fingerprint.definitions import annotations_of, class_members, derived_methods
from triptych.fingerprint.free_variables import MISSING, Read, cell_value, reads
from triptych.fingerprint.primitive_tokens import digest
from triptych.fingerprint.releases import is_read
from triptych.fingerprint.tokens import Definition, Walk, definition_token
from triptych.stages import Found
from triptych.support.dataclass import dataclass
from triptych.support.instances import builtin_content, hides_state, slot_names


@dataclass(frozen=True, slots=True)
class Guard:
    """`unchanged()` is the fast question; `tests` are its parts, for a person to read, over the objects in `names`."""

    unchanged: Callable[[], bool]
    tests: tuple[str, ...]
    names: Mapping[str, object]

    def __call__(self) -> bool:
        return self.unchanged()


def guards(function: FunctionType, *values: object) -> Guard:
    """Watches a function, all it reads, and values such as the `Constexpr` arguments of a call.

    Make the guard before the key: a change in between is then noticed.
    """
    walk = Walk()
    walk.root(function)
    for value in values:
        walk.value(value)
    return _guard(walk)


def watch(*values: object) -> Guard:
    """Watches values alone."""
    walk = Walk()
    for value in values:
        walk.value(value)
    return _guard(walk)


def without(guard: Guard, attributes: Iterable[tuple[object, str]]) -> Guard:
    """The guard, no longer watching some attributes of objects, (object, name): the program assigns them anew."""
    free: dict[int, tuple[Mapping[str, object], set[str]]] = {}
    for owner, name in attributes:
        stored = getattr(owner, "__dict__", None)
        if isinstance(stored, dict):
            free.setdefault(id(stored), (stored, set()))[1].add(name)
    bound = dict(guard.names)
    tests = list(guard.tests)
    for name, value in guard.names.items():
        if id(value) in free and isinstance(value, dict):
            tests = _without_entries(tests, name, free[id(value)][1], bound)
    return guard if tests == list(guard.tests) else _made(tests, bound)


def also(guard: Guard, found: Sequence[Found]) -> Guard:
    """The guard, also watching what tracing has found."""
    if not found:
        return guard
    walk = Walk()
    for each in found:
        walk.value(each.read())
        walk.states.append(each.read)
    return _made((*guard.tests, "found()"), {**guard.names, "found": _guard(walk).unchanged})


def watches(guard: Guard, namespace: Mapping[str, object], name: str) -> bool:
    """Whether a guard watches what a module has by a name."""
    known = [bound for bound, value in guard.names.items() if value is namespace]
    return any(test.startswith(f"{known[0]}[{name!r}] is ") for test in guard.tests) if known else False


def _without_entries(tests: list[str], name: str, entries: set[str], bound: dict[str, object]) -> list[str]:
    """Tests of the dict called `name` that let the entries be anything; another new entry is still a change."""
    kept = [
        t for t in tests if not any(t.startswith(f"{name}[{e!r}] is ") or t == f"{e!r} not in {name}" for e in entries)
    ]
    watched = {match[1] for test in tests if (match := re.match(rf"{name}\['(.*)'\] is ", test))}
    allowed = f"allowed_{name}"
    bound[allowed] = frozenset(watched | entries)
    sized = {f"len({name}) == {len(watched)}", f"not {name}"}
    return [f"{name}.keys() <= {allowed}" if test in sized else test for test in kept]


def _made(tests: Iterable[str], bound: Mapping[str, object]) -> Guard:
    # A name that is gone raises: that is a change too.
    test = " and ".join(tests) or "True"
    text = f"def unchanged():\n    try:\n        return {test}\n    except Exception:\n        return False\n"
    namespace = dict(bound)
    exec(compile(text, "<guard>", "exec"), namespace)
    unchanged = namespace["unchanged"]
    assert callable(unchanged), "the compiled text defines a function"
    return Guard(unchanged, tuple(tests), bound)


def _guard(walk: Walk) -> Guard:
    tests = _Tests()
    for _, definition in walk.mentioned():
        definition_token(definition, walk)
        tests.definition(definition)
    for value in walk.changeable:
        tests.changeable(value)
    for state in walk.states:
        tests.state(state)
    return tests.guard()


class _Tests:
    """Collects comparisons as text over bound names; equal comparisons are made once."""

    def __init__(self) -> None:
        self._tests: dict[str, None] = {}
        self._bound: dict[str, object] = {"same": _same, "read_again": _read_again, "cell_value": cell_value}
        self._bound |= {"same_state": same_state, "as_buffer": as_buffer, "is_settled": is_settled}
        self._names: dict[int, str] = {}

    def guard(self) -> Guard:
        return _made(self._tests, self._bound)

    def definition(self, definition: Definition) -> None:
        if isinstance(definition, FunctionType):
            self._function(definition)
        elif isinstance(definition, ModuleType):
            self._is(f"{self._bind(definition)}.__class__", type(definition))
            self._entries(vars(definition), vars(definition))
        else:
            self._is(f"{self._bind(definition)}.__class__", type(definition))
            self._is(f"{self._bind(definition)}.__bases__", definition.__bases__)
            entries = vars(definition)
            self._entries(entries, class_members(definition))
            for entry, method in derived_methods(definition).items():
                self._entry(entries, entry, entries[entry])
                self._is(f"{self._bind(method)}.__defaults__", method.__defaults__)
                self._is(f"{self._bind(method)}.__kwdefaults__", method.__kwdefaults__)

    def changeable(self, value: object) -> None:
        kind = type(value)
        if kind is list or kind is set:
            self._test(f"same({self._bind(value)}, {self._bind(tuple(value))})")  # type: ignore[arg-type]
        elif kind is dict or kind is MappingProxyType:
            self._dict(value)  # type: ignore[arg-type]
        elif isinstance(value, Enum):
            self._entries(vars(value), vars(value))
        elif size_in_bytes(value) > MOST_BYTES:
            self._test(f"is_settled({self._bind(value)})")
        elif (content := as_buffer(value)) is not None:
            self._test(f"as_buffer({self._bind(value)}) == {self._bind(content)}")
        elif is_read(kind) and not hasattr(kind, "__cache_key__") and not _keeps_content(value):
            self._instance(value)
        else:
            self._test(f"read_again({self._bind(value)}) == {_read_again(value)!r}")

    def state(self, read: Callable[[], object]) -> None:
        self._test(f"same_state({self._bind(read)}(), {self._bind(read())})")

    def _function(self, function: FunctionType) -> None:
        name = self._bind(function)
        self._is(f"{name}.__code__", function.__code__)
        self._is(f"{name}.__defaults__", function.__defaults__)
        # Equal annotations are the same annotations: comparing the dict at once takes half the time of its entries.
        self._test(f"{name}.__annotations__ == {self._bind(dict(annotations_of(function)))}")
        if function.__code__.co_kwonlyargcount:
            self._is(f"{name}.__kwdefaults__", function.__kwdefaults__)
            if function.__kwdefaults__ is not None:
                self._entries(function.__kwdefaults__, function.__kwdefaults__)
        self._entries(vars(function), vars(function))
        for read in reads(function):
            self._read(read)

    def _read(self, read: Read) -> None:
        if read.cell is not None:
            content, cell = cell_value(read.cell), self._bind(read.cell)
            self._is(f"cell_value({cell})" if content is MISSING else f"{cell}.cell_contents", content)
        for step in read.steps:
            self._entry(step.namespace, step.name, step.value)

    def _instance(self, value: object) -> None:
        name = self._bind(value)
        self._is(f"{name}.__class__", type(value))
        if hasattr(value, "__dict__"):
            self._is(f"{name}.__dict__", value.__dict__)
            self._entries(value.__dict__, value.__dict__)
        for slot in slot_names(type(value)):
            if hasattr(value, slot):
                self._is(f"{name}.{slot}", getattr(value, slot))
            else:
                self._test(f"not hasattr({name}, {slot!r})")

    def _dict(self, value: Mapping[object, object]) -> None:
        name = self._bind(value)
        if all(type(key) is str for key in value):
            self._test(f"[*{name}] == {self._bind(list(value))}")
            for key, item in value.items():
                self._is(f"{name}[{key!r}]", item)
            return
        self._test(f"same({name}, {self._bind(tuple(value))})")
        self._test(f"same({name}.values(), {self._bind(tuple(value.values()))})")

    def _entries(self, namespace: Mapping[str, object], watched: Mapping[str, object]) -> None:
        """Order is no matter here; a new name shows in the length."""
        name = self._bind(namespace)
        self._test(f"len({name}) == {len(namespace)}" if namespace else f"not {name}")
        for entry, value in watched.items():
            self._entry(namespace, entry, value)

    def _entry(self, namespace: Mapping[str, object], name: str, value: object) -> None:
        if value is MISSING:
            self._test(f"{name!r} not in {self._bind(namespace)}")
        else:
            self._is(f"{self._bind(namespace)}[{name!r}]", value)

    def _is(self, expression: str, value: object) -> None:
        self._test(f"{expression} is {self._bind(value)}")

    def _test(self, text: str) -> None:
        self._tests[text] = None

    def _bind(self, value: object) -> str:
        """A name for the object; the bound reference keeps it alive, so its address stays its own."""
        if id(value) not in self._names:
            self._names[id(value)] = name = f"v{len(self._names)}"
            self._bound[name] = value
        return self._names[id(value)]


def _keeps_content(value: object) -> bool:
    """Extends a builtin that can change, or a class written in C: attributes are not all there is."""
    content = builtin_content(value)
    return isinstance(content, list | dict | set) if content is not None else hides_state(type(value))


def _same(now: Collection[object], then: tuple[object, ...]) -> bool:
    return len(now) == len(then) and all(map(is_, now, then))


def _read_again(value: object) -> str:
    """The content now. Definitions in it are watched by themselves, so here it matters only which ones they are."""
    walk = Walk()
    root = walk.value(value)
    return digest((root, (*map(id, walk.definitions), *walk.behind_weak)))
