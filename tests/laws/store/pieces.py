"""What generated programs of the store do while they are traced: lines over `r`, an int that Python knows.

`E` is what the piece changes or reads: each program has one for compiled code and one for Python, made alike. `S` is a
set that both read. What must not be evaluated twice, or is another in each process, is computed from these.
"""

from __future__ import annotations

from dataclasses import dataclass

LIBRARY = """
import abc, array, bisect, collections, contextvars, copy, dataclasses, enum, functools, heapq, itertools, operator, os
import sys, types, weakref
import numpy
import shared_settings
import triptych as tt

class Box:
    total = 0
    def __init__(self, v=0): self.v, self.items = v, []
    @functools.cached_property
    def late(self): return self.v + 5
    def add(self, v): self.items.append(v); return len(self.items)
class Slots:
    __slots__ = ("v", "items")
    def __init__(self): self.v, self.items = 0, []
class Steps:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self): self.n += 1; return self.n
class Names(list): pass
class Base(abc.ABC): pass
class Colour(enum.Enum):
    RED, GREEN, BLUE = "red", "green", "blue"
@dataclasses.dataclass
class Record:
    names: object
def code(text): return sum(map(ord, text[:1]))
def folded(names):
    r = 0
    for name in names:
        r = (r * 7 + ord(str(name)[0])) % 9973
    return r
def fresh_class(): return type("Fresh", (), {})
def dispatched():
    @functools.singledispatch
    def kind(value): return 1
    return kind
"""


@dataclass(frozen=True, slots=True)
class Piece:
    """`made` is the expression of `E`; `lines` change it or read it; `shown` is what is left of it afterwards."""

    lines: str
    made: str = "None"
    shown: str = "str(E)"


def _each(made: str, shown: str, *lines: str) -> tuple[Piece, ...]:
    return tuple(Piece(line, made, shown) for line in lines)


EFFECTS: tuple[Piece, ...] = (
    *_each("[3, 1, 2]", "str(E)", "E.append(4)", "E.extend((5, 6))", "E.insert(0, 7)", "r += E.pop()", "E.clear()"),
    *_each(
        "[3, 1, 2]",
        "str(E)",
        "E.sort()",
        "E.reverse()",
        "E.remove(1)",
        "E[0] = 8",
        "E += [9]",
        "del E[0]",
        "E[1:] = [5]",
    ),
    *_each("[3, 1, 2]", "str(E)", "list.append(E, 4)", "operator.setitem(E, 0, 4)", "[E.append(i) for i in (1, 2)]"),
    *_each("[3, 1, 2]", "str(E)", "r += len(list(map(E.append, (1, 2))))", "heapq.heapify(E)", "bisect.insort(E, 2)"),
    *_each("[1, 2, 3]", "str(E)", "heapq.heappush(E, 0)", "r += heapq.heappop(E)", "r += heapq.heapreplace(E, 9)"),
    *_each(
        "{'a': 1}",
        "str(E)",
        "E['b'] = 2",
        "E.update(b=2)",
        "E.update({'c': 3})",
        "E.setdefault('d', 4)",
        "E |= {'e': 1}",
    ),
    *_each("{'a': 1}", "str(E)", "r += E.pop('a')", "r += E.popitem()[1]", "del E['a']", "E.clear()", "E['a'] += 1"),
    *_each("{'a': [1]}", "str(E)", "E['a'].append(2)", "E['a'][0] = 5", "copy.copy(E)['a'].append(3)"),
    *_each(
        "{1, 2}", "str(sorted(E))", "E.add(3)", "E.discard(1)", "E.update((7, 8))", "E |= {9}", "E.clear()", "E -= {1}"
    ),
    *_each("collections.deque([1, 2])", "str(E)", "E.append(3)", "E.appendleft(0)", "r += E.popleft()", "E.rotate(1)"),
    *_each("collections.Counter(a=1)", "str(E)", "E.update('ab')", "E['a'] += 1", "r += E['z']"),
    *_each("collections.defaultdict(list)", "str(dict(E))", "r += len(E['new'])", "E['x'].append(1)"),
    *_each("collections.OrderedDict(a=1, b=2)", "str(list(E))", "E.move_to_end('a')", "r += E.popitem(last=False)[1]"),
    *_each("collections.ChainMap({}, {'k': 1})", "str(E.maps)", "E['k'] = 2"),
    *_each("bytearray(b'ab')", "str(E)", "E.append(1)", "E[0] = 7", "E.extend(b'cd')", "E += b'x'"),
    *_each("array.array('i', [1, 2])", "str(E)", "E.append(3)", "E[0] = 5", "E.extend([7])"),
    *_each("numpy.array([3, 1, 2])", "str(E)", "E[0] = 9", "E.fill(4)", "numpy.add(E, 1, out=E)", "E += 1", "E.sort()"),
    *_each("numpy.array([3, 1, 2])", "str(E)", "numpy.copyto(E, 5)", "E[:] = 0", "E.put(0, 8)", "operator.iadd(E, 1)"),
    *_each("numpy.zeros((2, 2))", "str(E)", "E[1, 1] = 3", "E[0].fill(2)", "E.flat[3] = 1"),
    *_each(
        "iter([5, 6, 7])",
        "str(next(E))",
        "r += next(E)",
        "r += sum(itertools.islice(E, 2))",
        "a, b, c = E; E = iter([1])",
    ),
    *_each("itertools.count(5)", "str(next(E))", "r += next(E)"),
    *_each("itertools.cycle([5, 6])", "str(next(E))", "r += next(E)"),
    *_each("(i for i in range(9))", "str(next(E))", "r += next(E)"),
    *_each("Steps()", "str(E.n)", "r += next(E)", "r += sum(itertools.islice(E, 3))"),
    *_each(
        "Box()",
        "str((E.v, E.items))",
        "E.v = 3",
        "E.v += 1",
        "setattr(E, 'v', 4)",
        "E.items.append(1)",
        "r += E.add(4)",
    ),
    *_each("Box()", "str(sorted(vars(E)))", "r += E.late", "vars(E)['w'] = 1", "E.__dict__.update(w=2)", "del E.v"),
    *_each("Slots()", "str((E.v, E.items))", "E.v = 3", "E.items.append(4)", "object.__setattr__(E, 'v', 6)"),
    *_each("type('Own', (Box,), {})", "str(E.total)", "E.total = 4", "E.total += 1", "setattr(E, 'total', 9)"),
    *_each("types.SimpleNamespace(v=1)", "str(E)", "E.v = 5", "E.w = 2"),
    *_each("Names([1])", "str(E)", "E.append(2)", "E.tag = 1"),
    *_each("contextvars.ContextVar('c', default=1)", "str(E.get())", "E.set(5)"),
    *_each("functools.lru_cache(lambda n: n + 1)", "str(E.cache_info())", "r += E(3)"),
    *_each("fresh_class()", "str(issubclass(E, Base))", "Base.register(E)"),
    *_each("dispatched()", "str(E(1))", "E.register(int, lambda value: 9)", "r += E(1)"),
    *_each("weakref.WeakValueDictionary()", "str(len(E))", "E['k'] = Colour.RED"),
    *_each(
        "[[1], [2]]", "str(E)", "E[0].append(9)", "first, second = E; second.clear()", "for each in E: each.append(0)"
    ),
    *_each("(1, [2])", "str(E)", "E[1].append(3)"),
    *_each("functools.partial(Box().add)", "str(E.func.__self__.items)", "r += E(4)"),
    *_each("memoryview(bytearray(b'abc'))", "str(bytes(E))", "E[0] = 120"),
)

_SETS = (
    "{'alpha', 'beta', 'gamma', 'delta', 'eps'}",
    "frozenset(('north', 'south', 'east', 'west'))",
    "{b'x', b'yy', b'zzz', b'w'}",
    "{('a', 1), ('b', 2), ('c', 3)}",
    "set('triptych')",
    "{1, 'one', 2.5, 'two'}",
    "set(Colour)",
    "{3, 1, 2, 17, 99}",
    "{(1, 2), (0, 5), (9, 9)}",
    "set(dict(q=1, w=2, e=3, r=4))",
)

_WALKS = (
    "for n in S: r = (r * 7 + code(str(n))) % 9973",
    "r += folded(S)",
    "r += code(str(list(S)[0]))",
    "r += code(str([*S][-1]))",
    "first, *rest = S; r += code(str(first))",
    "r += code(str(set(S).pop()))",
    "own = set(S); r += code(str(own.pop())) + len(own)",
    "r += folded(str(S))",
    "r += folded(repr(S))",
    "r += folded(f'{S}')",
    "r += folded('%s' % (S,))",
    "r += folded('{}'.format(S))",
    "r += folded(str([S, 1]))",
    "r += folded(''.join(map(str, S)))",
    "r += folded(','.join([str(n) for n in S]))",
    "r += folded(sorted(map(str, S), key=len))",
    "r += code(min(S, key=lambda n: 0).__str__())",
    "r += code(str(max(S, key=lambda n: 1)))",
    "for i, n in enumerate(S): r += i * code(str(n))",
    "for i, n in zip(range(9), S): r += i * code(str(n))",
    "r += folded(dict.fromkeys(S))",
    "r += folded({n: 1 for n in S})",
    "r += code(str(tuple(S)[0]))",
    "r += code(str(next(iter(S))))",
    "r += folded({n for n in S})",
    "r += folded(S | {'zeta'})",
    "r += folded(frozenset(S) - {'alpha'})",
    "r += folded(collections.Counter(S))",
    "r += code(str(collections.deque(S)[0]))",
    "r += folded(reversed(list(S)))",
    "r += folded(itertools.chain(S, ('z',)))",
    "r += folded(itertools.islice(S, 2))",
    "r += functools.reduce(lambda a, n: (a * 3 + code(str(n))) % 997, S, 0)",
    "own = []; own.extend(S); r += code(str(own[0]))",
    "own = []; own += S; r += code(str(own[0]))",
    "own = [1, 2]; own[:] = S; r += code(str(own[-1]))",
    "own = {}; own.update(dict.fromkeys(S)); r += folded(own)",
    "r += code(str(numpy.array([str(n) for n in S])[0]))",
    "r += folded(str(Record(S)))",
    "r += folded([n for pair in [S] for n in pair])",
    "r += folded({str(n): 1 for n in S}.keys() & {str(n): 2 for n in S}.keys())",
    "r += (lambda *a: code(str(a[0])))(*S)",
    "r += folded(weakref.WeakSet([Colour.RED, Colour.GREEN, Colour.BLUE]))",
    # these say the same in every order
    "r += len(S) + ('alpha' in S) + (S == set(S)) + S.isdisjoint({5})",
    "r += folded(sorted(map(str, S)))",
    "r += len(S | {'zeta'}) + len(S & {1})",
    "r += sum(len(str(n)) for n in S)",
    "r += max(len(str(n)) for n in S)",
)
ORDERS: tuple[Piece, ...] = tuple(Piece(walk, made, "''") for made in _SETS for walk in _WALKS)
"""`S` is `E` here, the same object for both: its order is the process's."""

PROCESS: tuple[Piece, ...] = (
    *_each(
        "'abc'",
        "''",
        "r += hash(E) % 97",
        "r += E.__hash__() % 97",
        "r += hash((E, 1)) % 97",
        "r += str.__hash__(E) % 97",
    ),
    *_each("'abc'", "''", "r += sum(map(hash, ('x', E))) % 97", "r += folded(sorted(('x', 'y', E), key=hash))"),
    *_each(
        "object()",
        "''",
        "r += id(E) % 97",
        "r += folded(repr(E)[::-1])",
        "r += folded(f'{E}'[::-1])",
        "r += hash(E) % 97",
    ),
    *_each(
        "object()",
        "''",
        "r += folded(('%r' % E)[::-1])",
        "r += folded(str([E])[::-1])",
        "r += folded(map(str, [id(E)]))",
    ),
    *_each(
        "Box()", "''", "r += folded(str(E)[::-1])", "r += folded(E.__repr__()[::-1])", "r += folded(format(E)[::-1])"
    ),
    *_each(
        "Box",
        "''",
        "r += folded(repr(E.add)[::-1])",
        "r += hash(E) % 97",
        "r += folded(E.__name__)",
        "r += len(E.__module__)",
    ),
    *_each(
        "None", "''", "r += os.getpid() % 97", "r += len(os.environ['STORE_LAW'])", "r += len(os.getenv('STORE_LAW'))"
    ),
    *_each("None", "''", "r += len(sys.argv[-1])", "r += len(os.getcwd())", "r += len(__file__)", "r += len(__name__)"),
    *_each("None", "''", "r += __import__('shared_settings').K", "r += sys.modules['shared_settings'].K"),
    *_each("None", "''", "import shared_settings; r += shared_settings.K", "r += len(folded.__doc__ or 'none')"),
    *_each("None", "''", "o = os; r += len(o.environ['STORE_LAW'])", "s = sys; r += len(s.argv[-1])"),
)
