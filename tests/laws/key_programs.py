"""A program that reads everything there is to read, and one change for each way of reading it."""

from __future__ import annotations

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
import decimal
import enum
import functools
import numpy
import os
import settings
import types
import weakref
from settings import scale as imported_scale

NUMBER = 1
ZERO = 0.0
TEXT = "a"
TUPLE = (1, 2)
LIST = [1, [2]]
ONE, OTHER, INSIDE = [1], [1], [[1]]
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

BEHIND = {"a": 1, "b": [2]}
PROXY = types.MappingProxyType(BEHIND)
KEYS_VIEW, VALUES_VIEW, ITEMS_VIEW = BEHIND.keys(), BEHIND.values(), BEHIND.items()
ORDERED = collections.OrderedDict(a=1, b=2)
ORDERED_VIEW = ORDERED.values()
BYTES = bytearray(b"ab")
MEMORY = memoryview(BYTES)
class Tile(enum.Enum):
    SMALL = 1
    LARGE = 2
    def __init__(self, value):
        self.width = 8 * value
        self._stages = [value]
class Access(enum.Flag):
    READ = 1
    WRITE = 2
class Lazy:
    size = 2
    @functools.cached_property
    def area(self): return self.size ** 2
LAZY = Lazy()
@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int = 1
    y: list = dataclasses.field(default_factory=list)
FROZEN = Frozen()
NAMESPACE = types.SimpleNamespace(x=1, y=[1])
TARGET = Plain()
WEAK = weakref.ref(TARGET)
WEAK_PROXY = weakref.proxy(TARGET)
WEAK_VALUES = weakref.WeakValueDictionary(a=TARGET)
class Described:
    def __init__(self): self.values = {}
    def __get__(self, instance, owner): return self.values.get("v", 0)
class WithDescriptor:
    field = Described()
DESCRIBED = WithDescriptor()
COUNTED = collections.Counter(a=1)
CHAINED = collections.ChainMap({"a": 1}, {"b": 2})
MATRIX = numpy.arange(6).reshape(2, 3)
EVERY_OTHER = MATRIX[:, ::2]
OBJECTS = numpy.array([[1], [2]], dtype=object)[:, 0]

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
    ("PROXY", "BEHIND['a'] = 2", "global PROXY"),
    ("PROXY", "BEHIND['c'] = 2", "global PROXY"),
    ("PROXY", "BEHIND['b'].append(2)", "global PROXY"),
    ("PROXY", "BEHIND['a'] = BEHIND.pop('a')", "global PROXY"),
    ("KEYS_VIEW", "BEHIND['c'] = 2", "global KEYS_VIEW"),
    ("VALUES_VIEW", "BEHIND['a'] = 2", "global VALUES_VIEW"),
    ("VALUES_VIEW", "BEHIND['b'][0] = 3", "global VALUES_VIEW"),
    ("ITEMS_VIEW", "BEHIND['a'] = 2", "global ITEMS_VIEW"),
    ("ORDERED", "ORDERED.move_to_end('a')", "global ORDERED"),
    ("ORDERED_VIEW", "ORDERED.move_to_end('a')", "global ORDERED_VIEW"),
    ("ORDERED_VIEW", "ORDERED['a'] = 3", "global ORDERED_VIEW"),
    ("BYTES", "BYTES[0] = 1", "global BYTES"),
    ("MEMORY", "BYTES[0] = 1", "global MEMORY"),
    ("MEMORY", "MEMORY = MEMORY.cast('c')", "global MEMORY"),
    ("Tile.SMALL", "Tile.SMALL.width = 9", "class program.Tile"),
    ("Tile.SMALL", "Tile.SMALL._stages[0] = 9", "class program.Tile"),
    ("Tile.SMALL", "Tile.LARGE.depth = 9", "class program.Tile"),
    ("LAZY", "LAZY.area = 99", "global LAZY"),
    ("LAZY", "LAZY.size = 3", "global LAZY"),
    ("LAZY", "Lazy.area.func.__code__ = (lambda self: 5).__code__", "program.Lazy.area: source"),
    ("FROZEN", "object.__setattr__(FROZEN, 'x', 2)", "global FROZEN"),
    ("FROZEN", "FROZEN.y.append(1)", "global FROZEN"),
    ("NAMESPACE", "NAMESPACE.x = 2", "global NAMESPACE"),
    ("NAMESPACE", "NAMESPACE.y[0] = 2", "global NAMESPACE"),
    ("WEAK", "TARGET.x = 2", "global WEAK"),
    ("WEAK", "del TARGET", "global WEAK"),
    ("WEAK_PROXY", "TARGET.x = 2", "global WEAK_PROXY"),
    ("WEAK_VALUES", "TARGET.x = 2", "global WEAK_VALUES"),
    ("DESCRIBED", "WithDescriptor.__dict__['field'].values['v'] = 1", "class program.WithDescriptor"),
    ("COUNTED", "COUNTED['b'] = 0", "global COUNTED"),
    ("CHAINED", "CHAINED.maps[1]['b'] = 3", "global CHAINED"),
    ("EVERY_OTHER", "MATRIX[0, 2] = 9", "global EVERY_OTHER"),
    ("MATRIX", "MATRIX.resize((3, 2))", "global MATRIX"),
    ("OBJECTS", "OBJECTS[0] = 3", "global OBJECTS"),
    ("getattr(settings, 'TILES')", "settings.TILES.append(5)", "module settings"),
    ("getattr(settings, 'scale')(x)", "settings.scale = other", "module settings"),
    ("getattr(settings, 'scale')(x)", "settings.scale.__code__ = (lambda x: x).__code__", "settings.scale: source"),
    ("getattr(settings, 'Policy')", "settings.Policy.stages = 5", "class settings.Policy"),
    ("globals()['NUMBER']", "NUMBER = 2", "module program"),
    ("globals()['LIST']", "LIST.append(2)", "module program"),
    ("eval('NUMBER')", "NUMBER = 2", "module program"),
    ("os.getenv('TILE')", "os.environ['TILE'] = '9'", "global os.getenv"),
    ("os.environ.get('TILE')", "os.environ['TILE'] = '9'", "global os.environ"),
    ("decimal.Decimal(1) / 3", "decimal.getcontext().prec = 3", "global decimal.Decimal"),
    ("decimal.getcontext()", "decimal.setcontext(decimal.Context(prec=3))", "global decimal.getcontext"),
    ("ONE is OTHER", "OTHER = ONE", "shared objects"),
    ("ONE is INSIDE[0]", "INSIDE[0] = ONE", "shared objects"),
    ("[v + NUMBER for v in x]", "NUMBER = 2", "global NUMBER"),
    ("(lambda v: v + NUMBER)(x)", "NUMBER = 2", "global NUMBER"),
    ("(lambda v=NUMBER: v)(x)", "NUMBER = 2", "global NUMBER"),
]
