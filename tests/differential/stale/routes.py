"""Where stale programs have what they read from: `{made}` makes it, `{ROOT}` reads it, `REBIND` replaces it."""

from __future__ import annotations

BY_MODULE = """
elsewhere.ROOT = {made}
@jit
def f(x: tt.Int32):
    root = EXPRESSION
    return x + {root}
def plain():
    root = EXPRESSION
    return {root}
REBIND = "elsewhere.ROOT = #"
"""
WAYS = (
    '__import__("elsewhere").ROOT',
    'importlib.import_module("elsewhere").ROOT',
    'sys.modules["elsewhere"].ROOT',
    'sys.modules.get("elsewhere").ROOT',
    'vars(sys.modules["elsewhere"])["ROOT"]',
    "inspect.getmodule(elsewhere.from_here).ROOT",
    'pkgutil.resolve_name("elsewhere:ROOT")',
    'elsewhere.from_here.__globals__["ROOT"]',
)
"""How a function finds what a module has without naming it."""
ASKED_AGAIN = BY_MODULE.replace("    root = EXPRESSION\n", "    root = EXPRESSION\n    other = ANOTHER\n", 1)
"""The same question about something else comes behind it."""


def _of_another_module(way: str) -> str:
    return way.replace("from_here", "wraps").replace("elsewhere", "functools").replace("ROOT", "wraps")


ROUTES: tuple[str, ...] = (
    """
ROOT = {made}
@jit
def f(x: tt.Int32): return x + {ROOT}
def plain(): return {ROOT}
""",
    """
ROOT = {made}
def helper(): return {ROOT}
@jit
def f(x: tt.Int32): return x + helper()
def plain(): return {ROOT}
""",
    """
ROOT = {made}
def factory():
    def helper(use): return use()
    @jit
    def f(x: tt.Int32): return helper(lambda: x + {ROOT})
    return f
f = factory()
def plain(): return {ROOT}
""",
    """
def factory(root):
    @jit
    def f(x: tt.Int32): return x + {root}
    return f, lambda: {root}
ROOT = {made}
f, plain = factory(ROOT)
REBIND = "f.function.__closure__[0].cell_contents = #; plain.__closure__[0].cell_contents = #"
""",
    """
ROOT = {made}
@jit
def f(x: tt.Int32, root: tt.Constexpr = ROOT): return x + {root}
def plain(): return (lambda root: {root})(*f.function.__defaults__)
REBIND = "f.function.__defaults__ = (#,)"
""",
    """
ROOT = {made}
@jit
def f(x: tt.Int32, root: tt.Constexpr): return x + {root}
def compiled(): return f(0, ROOT)
def plain(): return {ROOT}
""",
    """
ROOT = {made}
@jit
def f(x: tt.Int32, *, root: tt.Constexpr): return x + {root}
def compiled(): return f(0, root=(ROOT, 1)[0])
def plain(): return {ROOT}
""",
    """
elsewhere.ROOT = {made}
@jit
def f(x: tt.Int32): return x + {elsewhere}
def plain(): return {elsewhere}
REBIND = "elsewhere.ROOT = #"
""",
    """
elsewhere.ROOT = {made}
@jit
def f(x: tt.Int32):
    root = getattr(elsewhere, "ROOT")
    return x + {root}
def plain(): return {elsewhere}
REBIND = "elsewhere.ROOT = #"
""",
    """
elsewhere.ROOT = {made}
def read(module):
    root = module.ROOT
    return {root}
@jit
def f(x: tt.Int32): return x + read(elsewhere)
def plain(): return {elsewhere}
REBIND = "elsewhere.ROOT = #"
""",
    """
elsewhere.ROOT = {made}
@jit
def f(x: tt.Int32):
    import elsewhere as module
    root = module.ROOT
    return x + {root}
def plain(): return {elsewhere}
REBIND = "elsewhere.ROOT = #"
""",
    """
elsewhere.ROOT = {made}
@jit
def f(x: tt.Int32):
    from elsewhere import ROOT as root
    return x + {root}
def plain(): return {elsewhere}
REBIND = "elsewhere.ROOT = #"
""",
    """
ROOT = {made}
@jit
def f(x: tt.Int32):
    root = globals()["ROOT"]
    return x + {root}
def plain(): return {ROOT}
""",
    """
class Kernel:
    def __init__(self, root): self.root = root
    @jit
    def run(self, x: tt.Int32):
        root = self.root
        return x + {root}
    def plain(self):
        root = self.root
        return {root}
kernel = Kernel({made})
ROOT = kernel.root
def compiled(): return kernel.run(0)
plain = kernel.plain
REBIND = "kernel.root = #"
""",
    """
class Kernel:
    root = {made}
    @jit
    def run(self, x: tt.Int32):
        root = type(self).root
        return x + {root}
ROOT = Kernel.root
def compiled(): return Kernel().run(0)
def plain():
    root = Kernel.root
    return {root}
REBIND = "Kernel.root = #"
""",
    """
@dataclasses.dataclass
class Point:
    x: int
    def read(self): return {ROOT}
ROOT = {made}
@jit
def f(p): return p.x + p.read()
def compiled(): return f(Point(0))
def plain(): return Point(0).read()
REBIND = "Point.read = lambda self: (lambda root: {root})(#)"
""",
    """
class Point(typing.NamedTuple):
    x: int
    def read(self): return {ROOT}
ROOT = {made}
@jit
def f(p): return p.x + p.read()
def compiled(): return f(Point(0))
def plain(): return Point(0).read()
""",
    """
@dataclasses.dataclass
class Point:
    x: int
    def __post_init__(self): self.root = ROOT
ROOT = {made}
@jit
def f(p):
    root = p.root
    return p.x + {root}
def compiled(): return f(Point(0))
def plain(): return {ROOT}
""",
    """
class Parts:
    def __init__(self, x, root): self.x, self.root = x, root
    def __jit_parts__(self): return (self.x,)
    def __from_jit_parts__(self, parts): return Parts(parts[0], self.root)
ROOT = {made}
@jit
def f(p):
    root = p.root
    return p.x + {root}
def compiled(): return f(Parts(0, ROOT))
def plain(): return {ROOT}
""",
    """
class Pointers:
    def __init__(self, x, root): self.root, self.x = root, x
    def __c_pointers__(self): return [self.x]
    def __new_from_mlir_values__(self, values): return Pointers(values[0], self.root)
    def __extract_mlir_values__(self): return [self.x]
ROOT = {made}
@jit
def f(p):
    root = p.root
    return p.x + {root}
def compiled(): return f(Pointers(0, ROOT))
def plain(): return {ROOT}
""",
    """
class Foreign: pass
ROOT = {made}
@tt.register_jit_arg_adapter(Foreign)
def adapted(value): return (0, {ROOT})
@jit
def f(p): return p[0] + p[1]
def compiled(): return f(Foreign())
def plain(): return {ROOT}
""",
    """
ROOT = {made}
@jit
def inner(x): return x + {ROOT}
@jit
def f(x: tt.Int32): return inner(x)
def plain(): return {ROOT}
""",
    """
ROOT = {made}
TABLE = {{"read": lambda: {ROOT}}}
@jit
def f(x: tt.Int32): return x + sum([TABLE[name]() for name in ("read",)])
def plain(): return {ROOT}
REBIND = "TABLE['read'] = lambda: (lambda root: {root})(#); globals()['plain'] = TABLE['read']"
""",
    """
ROOT = {made}
def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs): return function(*args, **kwargs)
    return wrapper
@jit
@logged
def f(x): return x + {ROOT}
def plain(): return {ROOT}
""",
    """
ROOT = {made}
class Base:
    @property
    def value(self): return {ROOT}
class Derived(Base):
    @property
    def value(self): return super().value
OBJECT = Derived()
@jit
def f(x: tt.Int32): return x + OBJECT.value
def plain(): return {ROOT}
""",
    """
elsewhere.ROOT = {made}
elsewhere.__getattr__ = lambda name: elsewhere.ROOT
@jit
def f(x: tt.Int32):
    root = elsewhere.anything
    return x + {root}
def plain():
    root = elsewhere.anything
    return {root}
REBIND = "elsewhere.ROOT = #"
""",
    """
elsewhere.ROOT = {made}
elsewhere.__getattr__ = lambda name: elsewhere.ROOT
@jit
def f(x: tt.Int32):
    root = elsewhere.anything
    return x + {root}
def plain():
    root = elsewhere.anything
    return {root}
REBIND = "elsewhere.__getattr__ = lambda name: (#)"
""",
    """
elsewhere.ROOT = {made}
class Answering(types.ModuleType):
    @property
    def answer(self): return self.ROOT
elsewhere.__class__ = Answering
@jit
def f(x: tt.Int32):
    root = elsewhere.answer
    return x + {root}
def plain():
    root = elsewhere.answer
    return {root}
REBIND = "Answering.answer = property(lambda self: (#))"
""",
    """
ROOT = {made}
class Special:
    def __call__(self, x, root=ROOT): return x + {root}
OBJECT = Special()
@jit
def f(x: tt.Int32): return OBJECT(x)
def plain(): return OBJECT(0)
REBIND = "Special.__call__.__defaults__ = (#,)"
""",
    """
ROOT = {made}
class Special:
    def __getitem__(self, index, *, root=ROOT): return index + {root}
OBJECT = Special()
@jit
def f(x: tt.Int32): return OBJECT[x]
def plain(): return OBJECT[0]
REBIND = "Special.__getitem__.__kwdefaults__ = dict(root=#)"
""",
    """
ROOT = {made}
@dataclasses.dataclass
class Made:
    root: object = None
Made.__init__.__defaults__ = (ROOT,)
@jit
def f(x: tt.Int32):
    root = Made().root
    return x + {root}
def plain():
    root = Made().root
    return {root}
REBIND = "Made.__init__.__defaults__ = (#,)"
""",
    """
ROOT = {made}
@dataclasses.dataclass
class Made:
    root: object = None
Made.__init__.__defaults__ = (ROOT,)
@jit
def f(x: tt.Int32):
    root = Made().root
    return x + {root}
def plain():
    root = Made().root
    return {root}
REBIND = "Made.__init__ = lambda self: setattr(self, 'root', #)"
""",
    """
class Made(typing.NamedTuple):
    x: int
    root: object = None
ROOT = {made}
Made.__new__.__defaults__ = (ROOT,)
@jit
def f(x: tt.Int32):
    root = Made(0).root
    return x + {root}
def plain():
    root = Made(0).root
    return {root}
REBIND = "Made.__new__.__defaults__ = (#,)"
""",
    """
ROOT = {made}
@functools.singledispatch
def answer(value): return None
answer.register(int, lambda value: ROOT)
@jit
def f(x: tt.Int32):
    root = answer(1)
    return x + {root}
def plain():
    root = answer(1)
    return {root}
REBIND = "answer.register(int, lambda value: (#))"
""",
    """
ROOT = {made}
class Interface(abc.ABC): pass
class Plain: pass
OBJECT = Plain()
@jit
def f(x: tt.Int32): return x + (77 if isinstance(OBJECT, Interface) else {ROOT})
def plain(): return 77 if isinstance(OBJECT, Interface) else {ROOT}
REBIND = "Interface.register(Plain)"
""",
    """
ROOT = {made}
class Interface(collections.abc.Sequence): pass
class Plain: pass
@jit
def f(x: tt.Int32): return x + (77 if issubclass(Plain, collections.abc.Sequence) else {ROOT})
def plain(): return 77 if issubclass(Plain, collections.abc.Sequence) else {ROOT}
REBIND = "Interface.register(Plain)"
""",
    """
ROOT = {made}
@jit
def inner(x): return x
inner.root = ROOT
@jit
def f(x: tt.Int32):
    root = inner.root
    return x + {root}
def plain():
    root = inner.root
    return {root}
REBIND = "inner.root = #"
""",
    """
ROOT = {made}
class Copied: pass
COPIED = Copied()
copyreg.pickle(Copied, lambda value: (types.SimpleNamespace, (), {{"root": ROOT}}))
@jit
def f(x: tt.Int32):
    root = copy.copy(COPIED).root
    return x + {root}
def plain():
    root = copy.copy(COPIED).root
    return {root}
REBIND = "copyreg.pickle(Copied, lambda value: (types.SimpleNamespace, (), dict(root=#)))"
""",
    *(BY_MODULE.replace("EXPRESSION", way) for way in WAYS),
    *(ASKED_AGAIN.replace("EXPRESSION", way).replace("ANOTHER", _of_another_module(way)) for way in WAYS),
)
