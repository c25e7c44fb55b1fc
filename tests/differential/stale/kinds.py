"""Ways to hold a value and to read it again, each with the ways to change what is held.

A kind is three texts over the expression `@` of the object: how it is made around the value `#`, how it is read, and
how the value inside becomes another. Kinds nest; those of `NUMBERS` hold a number and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

LIBRARY = """
import abc
import array
import collections
import collections.abc
import contextvars
import copy
import copyreg
import dataclasses
import enum
import functools
import importlib
import inspect
import operator
import os
import pkgutil
import sys
import threading
import types
import typing
import weakref

import numpy

BEHIND = []  # what windows look at, and what weak references would lose

def behind(window, content):
    BEHIND.append((window, content))
    return window

def content_of(window):
    return next(content for known, content in reversed(BEHIND) if known is window)

class Box:
    def __init__(self, v): self.v = v
    def get(self): return self.v
    @property
    def doubled(self): return self.v
    def __getitem__(self, index): return self.v
    def __call__(self): return self.v

class Slotted:
    __slots__ = ("v",)
    def __init__(self, v): self.v = v

class Lazy:
    def __init__(self, v): self._v = v
    @functools.cached_property
    def v(self): return self._v

class Dynamic:
    def __init__(self, v): self.names = {"v": v}
    def __getattr__(self, name): return self.__dict__["names"][name]

class Descriptor:
    def __init__(self, v): self.v = v
    def __get__(self, instance, owner): return self.v

class Keyed:
    def __init__(self, v): self.v = v
    def __cache_key__(self): return self.v

class Hashed:
    def __init__(self, v): self.v = v
    def __hash__(self): return self.v

class Limited(type):
    def __instancecheck__(cls, value): return value < cls.limit

def limited(v): return Limited("Bounded", (), {"limit": v})

def documented(v):
    def read(): pass
    read.__doc__ = str(v)
    return read

def titled(v):
    def read(): pass
    read.__name__ = f"n{v}"
    return read

class Items(list): pass
class Names(dict): pass
class Number(int): pass
class Text(str): pass

@dataclasses.dataclass
class Record:
    v: object

@dataclasses.dataclass(frozen=True)
class Frozen:
    v: object

@dataclasses.dataclass(frozen=True, slots=True)
class FrozenSlots:
    v: object

class Tuple(typing.NamedTuple):
    v: object

def described(v):
    class WithDescriptor:
        field = Descriptor(v)
    return WithDescriptor()

def enumerated(v):
    class Colour(enum.Enum):
        RED = 1
        BLUE = 2
    Colour.RED.held = v
    return Colour

def flags(v):
    class Rights(enum.Flag):
        READ = 1
        WRITE = 2
    Rights.WRITE._held = v
    return Rights

def parent_of(v):
    class Parent:
        held = v
        def get(self): return self.held
    return Parent

def child_of(v):
    class Child(parent_of(v)):
        def get(self): return super().get()
    return Child

def with_metaclass(v):
    class Meta(type):
        held = v
    class Class(metaclass=Meta): pass
    return Class

def static(v):
    class Methods:
        @staticmethod
        def fixed(): return v
        @classmethod
        def of_class(cls): return v
    return Methods

def cell(v):
    def read(): return v
    return read

def default(v):
    def read(v=v): return v
    return read

def keyword(v):
    def read(*, v=v): return v
    return read

def attributed(v):
    def read(): return read.held
    read.held = v
    return read

def wrapped(v):
    inner = cell(v)
    @functools.wraps(inner)
    def outer(): return inner()
    return outer

def given(v): return v

def module(v):
    made = types.ModuleType("held")
    made.v = v
    return made

def proxy(v):
    content = {"v": v}
    return behind(types.MappingProxyType(content), content)

def values_view(v):
    content = {"v": v}
    return behind(content.values(), content)

def items_view(v):
    content = collections.OrderedDict(v=v)
    return behind(content.items(), content)

def keys_view(v):
    content = {v: None}
    return behind(content.keys(), content)

def weak(v):
    held = Box(v)
    return behind(weakref.ref(held), held)

def weak_proxy(v):
    held = Box(v)
    return behind(weakref.proxy(held), held)

def weak_values(v):
    held = Box(v)
    return behind(weakref.WeakValueDictionary(v=held), held)

def weak_keys(v):
    held = Box(0)
    found = weakref.WeakKeyDictionary()
    found[held] = v
    return behind(found, held)

def context(v):
    variable = contextvars.ContextVar("held")
    variable.set(v)
    return variable

def local(v):
    made = threading.local()
    made.v = v
    return made

def memory(v): return memoryview(bytearray([v]))

def array_view(v):
    base = numpy.zeros((2, 3), numpy.int64)
    base[1, 2] = v
    return base[:, ::2]

def objects(v):
    made = numpy.empty(2, object)
    made[1] = v
    return made

def environment(v):
    os.environ["A_TEST_HOLDS"] = str(v)
    return os.environ
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """`made`, `read` and `changes` are texts with `@` for the object and `#` for a value."""

    made: str
    read: str
    changes: tuple[str, ...] = ()


NESTED: tuple[Kind, ...] = (
    Kind("[0, #]", "@[1]", ("@[1] = #", "@.insert(1, #)", "@.pop(0); @.append(#)")),
    Kind("(0, #)", "@[1]"),
    Kind("{'k': #}", "@['k']", ("@['k'] = #", "@.update(k=#)")),
    Kind("{7: #, 8: 0}", "@[7]", ("@[7] = #",)),
    Kind("{(1, 'a'): #}", "@[1, 'a']", ("@[1, 'a'] = #",)),
    Kind("{'a': #, 'b': #}", "list(@.values())[0]", ("@['b'] = #; @['a'] = @.pop('a')",)),
    Kind("types.SimpleNamespace(v=#)", "@.v", ("@.v = #",)),
    Kind("Box(#)", "@.v", ("@.v = #", "@.__dict__ = {'v': #}", "setattr(type(@), 'v', property(lambda self: #))")),
    Kind("Box(#)", "@.get()", ("@.v = #", "@.get = lambda: #", "type(@).get = lambda self: #")),
    Kind("Box(#)", "@.doubled", ("@.v = #", "type(@).doubled = property(lambda self: #)")),
    Kind("Box(#)", "@[5]", ("@.v = #", "type(@).__getitem__ = lambda self, index: #")),
    Kind("Box(#)", "@()", ("@.v = #", "type(@).__call__ = lambda self: #")),
    Kind("Box(#).get", "@()", ("@.__self__.v = #",)),
    Kind("Box(#)", "getattr(@, 'v')", ("@.v = #",)),
    Kind("Box(#)", "vars(@)['v']", ("@.v = #",)),
    Kind("Box(#)", "operator.attrgetter('v')(@)", ("@.v = #",)),
    Kind("Slotted(#)", "@.v", ("@.v = #",)),
    Kind("Lazy(#)", "@.v", ("@.v = #", "vars(@).pop('v', None); @._v = #")),
    Kind("Dynamic(#)", "@.v", ("@.names['v'] = #", "@.v = #")),
    Kind("described(#)", "@.field", ("type(@).__dict__['field'].v = #", "type(@).field = #")),
    Kind("Keyed(#)", "@.v", ("@.v = #",)),
    Kind("Items([#])", "@[0]", ("@[0] = #",)),
    Kind("Names(k=#)", "@['k']", ("@['k'] = #",)),
    Kind("Record(#)", "@.v", ("@.v = #",)),
    Kind("Frozen(#)", "@.v", ("object.__setattr__(@, 'v', #)",)),
    Kind("FrozenSlots(#)", "@.v", ("object.__setattr__(@, 'v', #)",)),
    Kind("Tuple(#)", "@.v"),
    Kind("Tuple(#)", "@[0]", ("type(@).__getitem__ = lambda self, index: #",)),
    Kind("enumerated(#)", "@.RED.held", ("@.RED.held = #",)),
    Kind("enumerated(#).RED", "@.held", ("@.held = #", "type(@).RED.held = #")),
    Kind("flags(#)", "(~@.READ)._held", ("@.WRITE._held = #",)),
    Kind("parent_of(#)", "@.held", ("@.held = #",)),
    Kind("parent_of(#)()", "@.held", ("@.held = #", "type(@).held = #", "@.__class__ = parent_of(#)")),
    Kind("child_of(#)", "@.held", ("@.held = #", "@.__bases__[0].held = #", "@.__bases__ = (parent_of(#),)")),
    Kind("child_of(#)()", "@.get()", ("type(@).__mro__[1].held = #", "type(@).__mro__[1].get = lambda self: #")),
    Kind("with_metaclass(#)", "@.held", ("type(@).held = #", "@.held = #")),
    Kind("static(#)", "@.fixed()", ("@.fixed = staticmethod(lambda: #)", "@.fixed = lambda: #")),
    Kind("static(#)()", "@.of_class()", ("type(@).of_class = classmethod(lambda cls: #)",)),
    Kind("cell(#)", "@()", ("@.__closure__[0].cell_contents = #",)),
    Kind("default(#)", "@()", ("@.__defaults__ = (#,)",)),
    Kind("keyword(#)", "@()", ("@.__kwdefaults__['v'] = #", "@.__kwdefaults__ = {'v': #}")),
    Kind("attributed(#)", "@()", ("@.held = #",)),
    Kind("wrapped(#)", "@()", ("@.__wrapped__.__closure__[0].cell_contents = #",)),
    Kind("functools.partial(given, v=#)", "@()", ("@.keywords['v'] = #",)),
    Kind("functools.partial(given, #)", "@()", ("@.__setstate__((given, (#,), {}, None))",)),
    Kind("module(#)", "@.v", ("@.v = #",)),
    Kind("module(#)", "getattr(@, 'v')", ("@.v = #",)),
    Kind("proxy(#)", "@['v']", ("content_of(@)['v'] = #",)),
    Kind("values_view(#)", "list(@)[0]", ("content_of(@)['v'] = #",)),
    Kind("items_view(#)", "list(@)[0][1]", ("content_of(@)['v'] = #",)),
    Kind("weak(#)", "@().v", ("@().v = #",)),
    Kind("weak_proxy(#)", "@.v", ("@.v = #",)),
    Kind("weak_values(#)", "@['v'].v", ("@['v'].v = #",)),
    Kind("weak_keys(#)", "list(@.values())[0]", ("@[content_of(@)] = #",)),
    Kind("context(#)", "@.get()", ("@.set(#)",)),
    Kind("local(#)", "@.v", ("@.v = #",)),
    Kind("collections.deque([#])", "@[0]", ("@[0] = #", "@.appendleft(#)")),
    Kind("collections.OrderedDict(k=#)", "@['k']", ("@['k'] = #",)),
    Kind("collections.defaultdict(list, k=#)", "@['k']", ("@['k'] = #",)),
    Kind(
        "collections.ChainMap({}, {'k': #})",
        "@['k']",
        ("@['k'] = #", "@.maps[1]['k'] = #", "@.maps.insert(0, {'k': #})"),
    ),
    Kind("collections.UserDict(k=#)", "@['k']", ("@['k'] = #", "@.data = {'k': #}")),
    Kind("collections.UserList([#])", "@[0]", ("@[0] = #",)),
    Kind("objects(#)", "@[1]", ("@[1] = #",)),
    Kind("iter([#])", "@.__reduce__()[1][0][0]"),
    Kind("slice(#, None)", "@.start"),
)

NUMBERS: tuple[Kind, ...] = (
    Kind("#", "@"),
    Kind("bytearray([#])", "@[0]", ("@[0] = #", "@.insert(0, #)")),
    Kind("memory(#)", "@[0]", ("@[0] = #",)),
    Kind("array.array('i', [#])", "@[0]", ("@[0] = #",)),
    Kind("numpy.array([#, 0])", "int(@[0])", ("@[0] = #", "@.__iadd__(#)", "@.fill(#)")),
    Kind("numpy.array([#], numpy.float32)", "int(@[0])", ("@[:] = #",)),
    Kind("array_view(#)", "int(@[1, 1])", ("@[1, 1] = #", "@.base[1, 2] = #")),
    Kind("numpy.int64(#)", "int(@)"),
    Kind("numpy.zeros((1, #))", "@.shape[1]", ("@.resize((@.size, 1))",)),
    Kind("keys_view(#)", "list(@)[0]", ("content_of(@).clear(); content_of(@)[#] = None",)),
    Kind("{#}", "max(@)", ("@.clear(); @.add(#)",)),
    Kind("frozenset([#])", "max(@)"),
    Kind("collections.Counter(k=#)", "@['k']", ("@['k'] = #", "@['k'] += 1")),
    Kind("Number(#)", "int(@)"),
    Kind("range(#)", "len(@)"),
    Kind("Text(#)", "int(@)"),
    Kind("[0] * #", "len(@)", ("@.append(0)", "@.clear()")),
    Kind("environment(#)", "int(@['A_TEST_HOLDS'])", ("@['A_TEST_HOLDS'] = str(#)",)),
    Kind("environment(#) and 0", "int(os.getenv('A_TEST_HOLDS'))", ("environment(#)",)),
    Kind("environment(#) and os", "int(@.environ['A_TEST_HOLDS'])", ("environment(#)",)),
    Kind("environment(#) and os", "int(getattr(@, 'getenv')('A_TEST_HOLDS'))", ("environment(#)",)),
    Kind("Hashed(#)", "hash(@)", ("@.v = #", "type(@).__hash__ = lambda self: #")),
    Kind("limited(#)", "sum(isinstance(i, @) for i in range(40))", ("@.limit = #",)),
    Kind("documented(#)", "int(@.__doc__)", ("@.__doc__ = str(#)",)),
    Kind("type('Held', (), {'__doc__': str(#)})", "int(@.__doc__)", ("@.__doc__ = str(#)",)),
    Kind("titled(#)", "int(@.__name__[1:])", ("@.__name__ = f'n{#}'",)),
)
