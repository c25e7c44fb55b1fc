"""Free variables of a function: every name it looks up outside itself, and what it finds there now.

Attribute chains are followed as long as they go through modules: `settings.tiles.WIDTH` reads a number, not a package.

Bytecode names: what a code object looks up outside itself. The bytecode is the authority because Python has already
decided in it which names are local; nested functions, lambdas, comprehensions and class bodies are code objects among
the constants.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import resolve_name
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final, Literal, TypeAlias

from triptych.fingerprint.contents import NAMESPACE_READERS, namespace_behind
from triptych.fingerprint.function_source import definition, text_of
from triptych.fingerprint.releases import has_pinned_code, is_framework, release
from triptych.support.dataclass import dataclass
from triptych.support.source_texts import parse_expression

# Object-stage, function -> names: what the annotations mention that Python has not evaluated.
# Annotations that are still text, and annotations of local variables and nested functions, decide binding times (`n:
# Constexpr`), so rebinding a name in one of them changes what is compiled.

_REMEMBERED = 256
"""Functions whose annotations are not looked for again."""


def annotation_names(function: FunctionType) -> frozenset[Chain]:
    """Dotted names in the annotations of `function` and of everything written in its body."""
    own = frozenset(chain for text in _unevaluated(function) for chain in _dotted_names_of_text(text))
    return own | _names_inside(text_of(function), function.__code__.co_name)


@lru_cache(maxsize=_REMEMBERED)
def _names_inside(text: str, name: str) -> frozenset[Chain]:
    tree = definition(text, name)
    if tree is None:
        return frozenset()
    return frozenset(chain for annotation in _inside(tree) for chain in _dotted_names(annotation))


def _unevaluated(function: FunctionType) -> list[str]:
    try:
        return [value for value in function.__annotations__.values() if isinstance(value, str)]
    except NameError:
        # Python 3.14 evaluates on demand, and a name may be missing.
        return []


def _inside(tree: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    """Not the function's own signature: that one is in `__annotations__`, evaluated or as text."""
    for statement in tree.body:
        for node in ast.walk(statement):
            match node:
                case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.expr() as annotation):
                    yield annotation
                case ast.FunctionDef(returns=ast.expr() as annotation):
                    yield annotation


def _dotted_names(expression: ast.expr) -> Iterator[Chain]:
    """`a.b[c]` gives (a, b) and (c,)."""
    attributes: list[str] = []
    node = expression
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        yield (node.id, *reversed(attributes))
    elif isinstance(node, ast.Constant):
        yield from _dotted_names_of_text(node.value)
    else:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _dotted_names(child)


def _dotted_names_of_text(text: object) -> Iterator[Chain]:
    if not isinstance(text, str):
        return
    try:
        parsed = parse_expression(text)
    except SyntaxError:
        return
    yield from _dotted_names(parsed)


MISSING: Final = object()
_FALLBACK = "__getattr__"
"""The function of a module that answers for the names it does not have (PEP 562)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One look-up on the way to a value; `value` is MISSING when the name was not there."""

    namespace: Mapping[str, object]
    name: str
    value: object


@dataclass(frozen=True, slots=True)
class Read:
    """A name a function looks up outside itself, with the value it has now (MISSING when unresolved)."""

    kind: Literal["closure", "global", "builtin", "import", "unresolved"]
    path: str
    value: object
    steps: tuple[Step, ...] = ()
    cell: CellType | None = None


def reads(function: FunctionType) -> tuple[Read, ...]:
    """Everything `function` reads directly, sorted, so that the order says nothing about the process.

    Code that a release pins reads names that the same release pins: only its cells can hold something of the user.
    """
    direct = tuple(_closure_reads(function) if has_pinned_code(function) else _all_reads(function))
    found = (*direct, *(other for read in direct for other in _fallbacks(read)))
    unique = {(read.kind, read.path): read for read in found}
    return tuple(unique[key] for key in sorted(unique))


def _all_reads(function: FunctionType) -> Iterator[Read]:
    found = lookups(function.__code__)
    own_names = found.local_names | {*function.__code__.co_freevars}
    yield from _closure_reads(function)
    for chain in found.globals | {chain for chain in annotation_names(function) if chain[0] not in own_names}:
        if chain[0].isidentifier():  # others are no part of the source: pytest adds such names to `assert`
            read = _global_read(function, chain)
            yield read
            if read.kind == "builtin" and any(read.value is reader for reader in NAMESPACE_READERS):
                yield Read("global", "globals()", namespace_behind(function))
    for item in found.imports:
        yield from _import_reads(item, function.__globals__)


def _closure_reads(function: FunctionType) -> Iterator[Read]:
    """Every cell, at least as a whole: an annotation may be all that mentions it."""
    chains = lookups(function.__code__).cells
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        for chain in {chain for chain in chains if chain[0] == name} or {(name,)}:
            yield _closure_read(cell, chain)


def cell_value(cell: CellType) -> object:
    """MISSING when the variable of the enclosing function has no value yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _closure_read(cell: CellType, chain: Chain) -> Read:
    value, path, steps = _follow(cell_value(cell), chain)
    return Read("unresolved" if value is MISSING else "closure", path, value, steps, cell)


def _global_read(function: FunctionType, chain: Chain) -> Read:
    name = chain[0]
    first = Step(function.__globals__, name, function.__globals__.get(name, MISSING))
    if first.value is not MISSING:
        value, path, steps = _follow(first.value, chain)
        return Read("unresolved" if value is MISSING else "global", path, value, (first, *steps))
    builtins: dict[str, object] = function.__builtins__  # type: ignore[attr-defined, unused-ignore]
    second = Step(builtins, name, builtins.get(name, MISSING))
    return Read("unresolved" if second.value is MISSING else "builtin", name, second.value, (first, second))


def _follow(value: object, chain: Chain) -> tuple[object, str, tuple[Step, ...]]:
    """Goes down the attributes of modules. Triptych's own modules need no step: users do not rebind their names."""
    steps: list[Step] = []
    path = chain[0]
    for name in chain[1:]:
        if not isinstance(value, ModuleType) or release(type(value).__module__) is None:  # one that answers by code
            break
        module, value = value, _attribute(value, name)
        path += f".{name}"
        if not is_framework(module.__name__):
            steps.append(Step(vars(module), name, vars(module).get(name, MISSING)))
            if steps[-1].value is MISSING and _FALLBACK in vars(module) and release(module.__name__) is None:
                steps.append(Step(vars(module), _FALLBACK, vars(module)[_FALLBACK]))
    return value, path, tuple(steps)


def _fallbacks(read: Read) -> Iterator[Read]:
    """The functions of modules that have been asked for a name."""
    for step in read.steps:
        if step.name == _FALLBACK:
            yield Read("global", f"{read.path} by {_FALLBACK}", step.value)


def _attribute(module: ModuleType, name: str) -> object:
    """Through `getattr`, as the function would: a module may make its names on demand (PEP 562)."""
    try:
        return getattr(module, name, MISSING)
    except Exception:
        return MISSING


def _import_reads(item: Import, namespace: Mapping[str, object]) -> Iterator[Read]:
    """Modules pinned by a release are not loaded just to name them; the user's are, as running the import would."""
    package = namespace.get("__package__")
    try:
        absolute = resolve_name("." * item.level + item.module, package if isinstance(package, str) else None)
        pinned = release(absolute)
        if pinned is None:
            __import__(absolute, fromlist=item.names)
    except Exception:
        yield Read("unresolved", item.module, MISSING)
        return
    if pinned is not None:
        yield Read("import", absolute, (absolute, pinned))
    elif item.names:
        yield from (_imported_name(absolute, name) for name in item.names)
    else:
        parts = absolute.split(".")
        for end in range(1, len(parts) + 1):
            path = ".".join(parts[:end])
            yield Read("import", path, sys.modules[path], (_imported(path),))


def _imported_name(module: str, name: str) -> Read:
    value, path, steps = _follow(sys.modules[module], (module, name))
    return Read("unresolved" if value is MISSING else "import", path, value, (_imported(module), *steps))


def _imported(module: str) -> Step:
    return Step(sys.modules, module, sys.modules[module])


Chain: TypeAlias = tuple[str, ...]
"""A name and the attributes taken from it: `settings.tiles.WIDTH`."""

GLOBAL_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
CELL_LOADS = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_CLOSURE"})
ATTRIBUTE_LOADS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


@dataclass(frozen=True, slots=True)
class Import:
    """An `import` statement inside a function."""

    module: str
    level: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lookups:
    """What a code object and all code nested in it look up; `cells` also holds cells of its own nested functions."""

    globals: frozenset[Chain]
    cells: frozenset[Chain]
    imports: frozenset[Import]
    local_names: frozenset[str]


@lru_cache(maxsize=1024)
def lookups(code: CodeType) -> Lookups:
    """Equal code objects look up equal names, so remembering by code is safe."""
    global_chains: set[Chain] = set()
    cell_chains: set[Chain] = set()
    imports: set[Import] = set()
    local_names: set[str] = set()
    for inner in _with_nested(code):
        local_names |= {*inner.co_varnames, *inner.co_cellvars}
        for opcode, chain in _chains(inner):
            (cell_chains if opcode in CELL_LOADS else global_chains).add(chain)
        imports |= set(_imports(inner))
    return Lookups(frozenset(global_chains), frozenset(cell_chains), frozenset(imports), frozenset(local_names))


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_nested(constant)


def _chains(code: CodeType) -> Iterator[tuple[str, Chain]]:
    opcode: str = ""
    chain: list[str] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "EXTENDED_ARG":
            continue
        if chain and instruction.opname in ATTRIBUTE_LOADS:
            chain.append(instruction.argval)
            continue
        if chain:
            yield opcode, tuple(chain)
        opcode, chain = instruction.opname, []
        if opcode in GLOBAL_LOADS or opcode in CELL_LOADS:
            chain = [instruction.argval]


def _imports(code: CodeType) -> Iterator[Import]:
    """An import loads its level and its list of names as the two constants before it."""
    operands: list[Any] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "EXTENDED_ARG":
            continue
        if instruction.opname == "IMPORT_NAME":
            level, names = operands[-2:]
            yield Import(instruction.argval, level or 0, names or ())
        operands.append(instruction.argval)
