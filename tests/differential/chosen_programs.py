"""Generated programs that choose an object at run time and then use it: what is chosen, how, and what is done with it.

Each is a function `f(n)` that makes objects `p` and `q` of one kind, lets a run-time value decide which of them `r` is,
uses `r`, `p` or `q`, and returns numbers. The three tables are combined freely; what fits no kind is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

CLASSES = """
import collections, copy, dataclasses, functools, itertools, math, operator, types
import triptych as tt
from typing import NamedTuple

@dataclasses.dataclass
class P:
    x: object
    y: object
    def move(self, d):
        self.x = self.x + d
        return self

@dataclasses.dataclass
class Derived(P):
    z: object = 7

@dataclasses.dataclass(eq=False)
class Unequal:
    x: object
    y: object
    def move(self, d):
        self.x = self.x + d
        return self

@dataclasses.dataclass(frozen=True)
class Frozen:
    x: object
    y: object

@dataclasses.dataclass(frozen=True, eq=False)
class Token:
    x: object
    y: object

@dataclasses.dataclass(slots=True)
class Slim:
    x: object
    y: object
    def move(self, d):
        self.x = self.x + d
        return self

@dataclasses.dataclass
class Extra:
    x: object
    y: object
    def __post_init__(self):
        self.more = self.x * 2
    def move(self, d):
        self.x = self.x + d
        return self

@dataclasses.dataclass
class Hidden:
    x: object = dataclasses.field(compare=False)
    y: object = 0
    def move(self, d):
        self.x = self.x + d
        return self

@dataclasses.dataclass
class Tree:
    x: object
    inner: object
    def move(self, d):
        self.inner.x = self.inner.x + d
        return self

@dataclasses.dataclass
class Bag:
    x: object
    items: list
    def move(self, d):
        self.items.append(d)
        return self

class Named(NamedTuple):
    x: object
    y: object

class NamedEqual(Named):
    __slots__ = ()
    def __eq__(self, other):
        return self.x == other.x
    __hash__ = tuple.__hash__

class Plain:
    def __init__(self, x, y):
        self.x = x
        self.y = y
    def move(self, d):
        self.x = self.x + d
        return self

class Crossing:
    def __init__(self, x):
        self.x = x
    def __extract_mlir_values__(self):
        return [tt.Int32(self.x)]
    def __new_from_mlir_values__(self, values):
        return Crossing(values[0])
    def move(self, d):
        self.x = self.x + d
        return self

class Box:
    def __init__(self, a, b):
        self.a = a
        self.b = b
    def __getitem__(self, key):
        return self.b if key else self.a

def early(n, p, q):
    if n > 1:
        return q
    return p
"""
"""What the programs choose from, and two ways of choosing."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Objects of one kind: how two are made, and how their first number is read and written."""

    name: str
    p: str
    q: str
    read: str = "{o}.x"
    write: str = "{o}.x = {v}"
    traits: frozenset[str] = frozenset({"fields", "moves"})


def _kind(
    name: str, p: str, q: str, read: str = "{o}.x", write: str = "{o}.x = {v}", traits: str = "fields moves"
) -> Kind:
    return Kind(name, p, q, read, write, frozenset(traits.split()))


KINDS = (
    _kind("dataclass", "P(n, 2)", "P(5, 6)"),
    _kind("nan", "P(math.nan, 2)", "P(5.0, 6)", "{o}.y", "{o}.y = {v}"),
    _kind("run-time nan", "P(n * math.inf, 2)", "P(5.0, 6)", "{o}.y", "{o}.y = {v}"),
    _kind("tuple of nan", "(n * math.inf, 2)", "(5.0, 6)", "{o}[1]", "", ""),
    _kind("equal", "P(5, 6)", "P(5, 6)"),
    _kind("derived", "Derived(n, 2, 3)", "Derived(5, 6)"),
    _kind("unequal", "Unequal(n, 2)", "Unequal(5, 6)"),
    _kind("frozen", "Frozen(n, 2)", "Frozen(5, 6)", write="", traits="fields"),
    _kind("token", "Token(n, 2)", "Token(5, 6)", write="", traits="fields"),
    _kind("known token", "Token(3, 2)", "Token(5, 6)", write="", traits="fields"),
    _kind("slots", "Slim(n, 2)", "Slim(5, 6)"),
    _kind("attribute", "Extra(n, 2)", "Extra(5, 6)"),
    _kind("hidden field", "Hidden(n)", "Hidden(5)"),
    _kind("tree", "Tree(1, P(n, 2))", "Tree(2, P(5, 6))", "{o}.inner.x", "{o}.inner.x = {v}"),
    _kind("shared tree", "Tree(n, s)", "Tree(2, s)", "{o}.inner.x", "{o}.inner.x = {v}"),
    _kind("bag", "Bag(n, [1])", "Bag(5, [2])", "{o}.x + sum({o}.items)", "{o}.items.append({v})"),
    _kind("shared bag", "Bag(n, k)", "Bag(5, k)", "{o}.x + sum({o}.items)", "{o}.items.append({v})"),
    _kind("tuple", "(n, 2)", "(5, 6)", "{o}[0]", "", ""),
    _kind("known tuple", "(4, 2)", "(5, 6)", "{o}[0]", "", ""),
    _kind("tuple of objects", "(P(n, 2), 1)", "(P(5, 6), 2)", "{o}[0].x", "{o}[0].x = {v}", ""),
    _kind("named", "Named(n, 2)", "Named(5, 6)", write="", traits="fields"),
    _kind("named equal", "NamedEqual(n, 2)", "NamedEqual(5, 6)", write="", traits="fields"),
    _kind("list", "[n, 2]", "[5, 6]", "{o}[0]", "{o}[0] = {v}", "list"),
    _kind("dict", "{'x': n}", "{'x': 5}", "{o}['x']", "{o}['x'] = {v}", ""),
    _kind("plain", "Plain(n, 2)", "Plain(5, 6)"),
    _kind("known plain", "Plain(1, 2)", "Plain(5, 6)"),
    _kind("crossing", "Crossing(n)", "Crossing(5)"),
    _kind("namespace", "types.SimpleNamespace(x=n)", "types.SimpleNamespace(x=5)", traits="fields"),
    _kind("text", "str(3) + 'a'", "'3a'", "len({o})", "", ""),
    _kind("range", "range(3)", "range(0, 3)", "len({o})", "", ""),
    _kind("frozenset", "frozenset([1, 2])", "frozenset([2, 1])", "len({o})", "", ""),
)

CHOICES = {
    "list": "r = [p, q][n > 1]",
    "tuple": "r = (p, q)[n > 1]",
    "negative": "r = [q, p][-1 if n > 1 else -2] if False else [p, q][-(n % 2)]",
    "dict": "r = {False: p, True: q}[n > 1]",
    "dict of numbers": "r = {0: p, 1: q}[n % 2]",
    "get": "r = {0: p}.get(n, q)",
    "conditional": "r = q if n > 1 else p",
    "if": "if n > 1:\n    r = q\nelse:\n    r = p",
    "one side": "r = p\nif n > 1:\n    r = q",
    "match": "match n:\n    case 1:\n        r = p\n    case _:\n        r = q",
    "loop": "r = p\nfor i in range(n):\n    r = q",
    "swapping loop": "a, b = p, q\nfor i in range(n):\n    a, b = b, a\nr = a",
    "while": "r, i = p, 0\nwhile i < n:\n    i += 1\n    r = q if i > 1 else r",
    "or": "r = (n > 1 and q) or p",
    "min": "r = min([p, q], key=lambda o: n if o is p else 2)",
    "max": "r = max(p, q, key=lambda o: n if o is p else 2)",
    "sorted": "r = sorted([p, q], key=lambda o: n if o is p else 2)[0]",
    "next": "r = next(o for o, c in ((q, n > 1), (p, True)) if c)",
    "comprehension": "r = [o for o, c in ((q, n > 1), (p, True)) if c][0]",
    "getitem": "r = operator.getitem([p, q], n > 1)",
    "itemgetter": "r = operator.itemgetter(n > 1)([p, q])",
    "method": "r = [p, q].__getitem__(n > 1)",
    "unbound": "r = list.__getitem__([p, q], n > 1)",
    "class": "r = Box(p, q)[n > 1]",
    "attribute": "r = getattr(Box(p, q), 'b' if n > 1 else 'a')",
    "early": "r = early(n, p, q)",
    "twice": "r = [p, q][n > 1]\nr = [r, q][n > 3]",
    "nested": "r = [(p, 1), (q, 2)][n > 1][0]",
    "nested list": "r = [[p], [q]][n > 1][0]",
    "pair": "r, o = (q, p) if n > 1 else (p, q)",
    "unrolled": "r = p\nfor o, c in ((p, n > 5), (q, n > 1)):\n    if c:\n        r = o",
    "deque": "r = collections.deque([p, q])[n > 1]",
    "slice": "r = [p, q][n % 2:][0]",
    "pop": "r = [p, q].pop(n % 2)",
    "reduce": "r = functools.reduce(lambda a, b: b if n > 1 else a, [p, q])",
    "islice": "r = next(itertools.islice([p, q], n % 2, None))",
    "held": "h = Box(p, q)\nif n > 1:\n    h.a = q\nr = h.a",
    "walrus": "(r := q) if n > 1 else (r := p)",
    "closure": "def pick():\n    return q if n > 1 else p\nr = pick()",
}
"""Ways in which a run-time value decides which object `r` is."""


USES = {
    "read": ("", "{r}"),
    "store": ("{w:r:99}", "{p}, {q}, {r}"),
    "change p": ("{w:p:77}", "{p}, {q}, {r}"),
    "change q": ("{w:q:77}", "{p}, {q}, {r}"),
    "store by another name": ("h = [r]\nu = h[0]\n{w:u:99}", "{p}, {q}, {r}"),
    "store in a branch": ("if n > 2:\n    {w:r:99}", "{p}, {q}, {r}"),
    "change p in a branch": ("if n > 2:\n    {w:p:99}", "{p}, {q}, {r}"),
    "change q in a loop": ("for j in range(n):\n    {w:q:99}", "{p}, {q}, {r}"),
    "change p in a function": ("def change(o):\n    {w:o:98}\nchange(p)", "{p}, {q}, {r}"),
    "is p": ("", "r is p"),
    "is not q": ("", "r is not q"),
    "is itself": ("u = r", "u is r"),
    "is none": ("", "r is None, r is not None"),
    "is another": ("u = copy.copy(p)", "r is u"),
    "operator is": ("", "operator.is_(r, p), operator.is_not(q, r)"),
    "if is": ("t = 1\nif r is q:\n    t = 2", "t"),
    "== p": ("", "r == p"),
    "!= q": ("", "r != q"),
    "p ==": ("", "p == r, q == r"),
    "== tuple": ("", "(r, 1) == (p, 1), [r] == [q]"),
    "in list": ("", "r in [p]"),
    "in tuple": ("", "r not in (q, 3)"),
    "p in": ("", "p in [r]"),
    "in set": ("", "r in {p, q}"),
    "in keys": ("", "r in {p: 1}"),
    "key": ("", "{p: 1, q: 2}[r]"),
    "key get": ("", "{p: 1}.get(r, 7)"),
    "index": ("", "[p, q].index(r)"),
    "count": ("", "[p, q, p].count(r)"),
    "id": ("", "id(r) == id(p)"),
    "hash": ("", "hash(r) == hash(p)"),
    "any": ("", "any(o is r for o in (p, q)), all(o is r for o in (p, p))"),
    "filter": ("", "len([o for o in (p, q) if o is r])"),
    "remove": ("l = [p, q]\nl.remove(r)", "len(l), l[0] is p"),
    "set": ("", "len({r, p})"),
    "changed before copy": ("u = copy.copy(r)\n{w:u:55}", "{p}, {q}, {r}, {u}"),
    "deep copy": ("u = copy.deepcopy(r)\n{w:u:55}", "{p}, {q}, {r}, {u}"),
    "in a loop": ("t = 0\nfor j in range(n):\n    t += {r}", "t"),
    "kept": ("h = Box(r, p)\n{w:h.a:31}", "{p}, {q}, {r}"),
}
"""What is done with the objects, and what the program returns."""

FIELD_USES = {
    "augmented": ("r.x += 1", "p.x, q.x, r.x"),
    "setattr": ("setattr(r, 'x', 5)", "p.x, q.x, r.x"),
    "object setattr": ("object.__setattr__(r, 'x', 44)", "p.x, q.x, r.x"),
    "object setattr p": ("object.__setattr__(p, 'x', 44)", "p.x, q.x, r.x"),
    "dict": ("r.__dict__['x'] = 44", "p.x, q.x, r.x"),
    "dict of p": ("p.__dict__['x'] = 44", "p.x, q.x, r.x"),
    "vars": ("vars(r).update(x=44)", "p.x, q.x, r.x"),
    "vars of q": ("vars(q).update(x=44)", "p.x, q.x, r.x"),
    "held dict": ("d = vars(p)\nd['x'] = 44", "p.x, q.x, r.x"),
    "delete": ("del r.x", "hasattr(p, 'x'), hasattr(q, 'x')"),
    "new attribute": ("r.fresh = 3", "hasattr(p, 'fresh'), hasattr(q, 'fresh')"),
    "other attributes": ("", "getattr(r, 'more', 0), getattr(r, 'y', 0), getattr(r, 'z', 0)"),
    "getattr": ("", "getattr(r, 'x')"),
    "replace": ("u = dataclasses.replace(r, x=8)\nu.x = 9", "p.x, q.x, r.x, u.x"),
    "asdict": ("", "vars(r)['x'], len(vars(r))"),
    "pattern": ("t = 0\nmatch r:\n    case P(x=5):\n        t = 1", "t"),
    "attribute is": ("", "r.x is p.x"),
    "inner is": ("", "getattr(r, 'inner', None) is getattr(p, 'inner', None)"),
}
MOVES = {
    "move": ("r.move(3)", "{p}, {q}, {r}"),
    "move p": ("p.move(3)", "{p}, {q}, {r}"),
    "moved": ("u = r.move(2)", "u is r, {p}, {q}"),
    "bound method": ("m = r.move\nm(3)", "{p}, {q}, {r}"),
    "method before": ("p.move(1)", "{p}, {q}, {r}"),
}
LIST_USES = {
    "append": ("r.append(3)", "len(p), len(q)"),
    "extend": ("r += [3]", "len(p), len(q)"),
    "delete item": ("del r[0]", "len(p), len(q)"),
    "sort": ("r.sort()", "p[0], q[0]"),
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """One program and what it is made of."""

    kind: str
    choice: str
    use: str
    source: str

    def __str__(self) -> str:
        return f"{self.kind}, chosen by {self.choice}, {self.use}:\n{self.source.partition('def f(n):')[2]}"


def _uses(kind: Kind) -> Iterator[tuple[str, str, str]]:
    tables = [USES]
    tables += [FIELD_USES] if "fields" in kind.traits else []
    tables += [MOVES] if "moves" in kind.traits else []
    tables += [LIST_USES] if "list" in kind.traits else []
    for table in tables:
        for name, (statements, result) in table.items():
            if kind.write or "{w:" not in statements:
                yield name, _filled(statements, kind), _filled(result, kind)


def _filled(text: str, kind: Kind) -> str:
    """`{r}` becomes how that object is read, `{w:r:9}` how 9 is written into it."""
    for place in ("p", "q", "r", "u"):
        text = text.replace(f"{{{place}}}", kind.read.format(o=place)) if f"{{{place}}}" in text else text
    while "{w:" in text:
        before, _, rest = text.partition("{w:")
        inside, _, after = rest.partition("}")
        owner, value = inside.split(":")
        text = before + kind.write.format(o=owner, v=value) + after
    return text


def chosen_programs() -> Iterator[Chosen]:
    """Every program that the tables make."""
    for kind in KINDS:
        start = [f"s, k = P(3, 4), [1]\np, q = {kind.p}, {kind.q}"]
        for choice, chooses in CHOICES.items():
            for use, statements, result in _uses(kind):
                lines = [*start, chooses, statements, f"return {result}"]
                body = "\n".join(f"    {line}" for part in lines for line in part.splitlines() if line)
                yield Chosen(kind.name, choice, use, f"{CLASSES}\ndef f(n):\n{body}\n")
