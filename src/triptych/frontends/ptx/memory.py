"""Inline PTX, lowerings of accesses to memory: loads, stores, atomic updates, fences, prefetching.

Addresses are integers. One in shared memory counts from where the memory of the block starts, as on a GPU.
"""

from __future__ import annotations

from functools import partial

from triptych.cute.arch.atomics import ACQUIRE, ACQUIRE_RELEASE, RELAXED, ordering, scope_attributes
from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.shared_window import cluster_pointer, shared_pointer
from triptych.cute.memory.vectors import extract, join, vector_type
from triptych.frontends.ptx.code import ADDRESS, FLOATS, WIDTHS, Code, Lowering, is_signed, mlir_of
from triptych.frontends.ptx.statements import Instruction
from triptych.ir.handles import Attribute, Value
from triptych.kernel_ir.dialects.simt import PREFETCH
from triptych.support.dataclass import dataclass

_SPACES = {
    "global": AddressSpace.gmem,
    "shared": AddressSpace.smem,
    "shared::cta": AddressSpace.smem,
    "shared::cluster": AddressSpace.dsmem,
}
_SCOPES = frozenset({"cta", "cluster", "gpu", "sys"})
_ORDERS = {"ld": ("weak", "relaxed", "acquire", "volatile"), "st": ("weak", "relaxed", "release", "volatile")}
_CACHES = frozenset({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"})
_HINTS = ("L1::", "L2::")
_VECTORS = {"v2": 2, "v4": 4}
_NOT_ATOMIC = 0
_SEQUENTIAL = 7


@dataclass(frozen=True, slots=True)
class _Words:
    """What the opcode of an access says, beside its name."""

    space: AddressSpace = AddressSpace.generic
    order: str = ""
    scope: str = ""
    count: int = 1
    rest: tuple[str, ...] = ()


def _read(marks: tuple[str, ...], orders: tuple[str, ...]) -> _Words | None:
    """Every word in its role, none twice; what is in no role is left over."""
    found: dict[str, object] = {}
    rest: list[str] = []
    for mark in marks:
        role, value = _role(mark, orders)
        if not role:
            rest.append(mark)
        elif role == "hint":
            continue
        elif role in found:
            return None
        else:
            found[role] = value
    order, scope = found.get("order", ""), found.get("scope", "")
    if (order in ("", "weak", "volatile")) != (not scope) and "acq_rel" not in orders:
        return None
    return _Words(**found, rest=tuple(rest))  # type: ignore[arg-type]


def _role(mark: str, orders: tuple[str, ...]) -> tuple[str, object]:
    if mark in _SPACES:
        return "space", _SPACES[mark]
    if mark in orders:
        return "order", mark
    if mark in _SCOPES:
        return "scope", mark
    if mark in _VECTORS:
        return "count", _VECTORS[mark]
    return ("hint" if mark in _CACHES or mark.startswith(_HINTS) else ""), None


# loads and stores ---------------------------------------------------------------------------------------------------
def access(instruction: Instruction) -> Lowering | None:
    """`ld` and `st`, of one number or of a vector, which lies at a multiple of its whole size."""
    words = _read(instruction.marks, _ORDERS[instruction.name])
    if words is None or len(words.rest) != 1:
        return None
    (kind,) = words.rest
    size = WIDTHS.get(kind, 0) // 8 * words.count
    if kind == "pred" or WIDTHS.get(kind, 0) not in (8, 16, 32, 64) or "x" in kind or not 0 < size <= 16:
        return None
    if instruction.name == "ld":
        loaded = partial(_load, words=words, kind=kind)
        return Lowering((kind,) * words.count, (ADDRESS,), loaded, effect=True, widens=True)
    stored = partial(_store, words=words, kind=kind)
    return Lowering((), (ADDRESS, *(kind,) * words.count), stored, effect=True, widens=True)


def _attributes(code: Code, words: _Words, kind: str) -> dict[str, Attribute]:
    integer = code.trace.builder.integer
    size = WIDTHS[kind] // 8 * words.count
    found = {"alignment": integer("i64", size), "ordering": integer("i64", _NOT_ATOMIC)}
    if words.order not in ("", "weak"):
        found["triptych.order"] = code.word(".".join(filter(None, (words.order, words.scope))))
    return found


def _load(code: Code, address: Value, *, words: _Words, kind: str) -> Value | list[Value]:
    element = mlir_of(kind)
    many = words.count > 1
    place = pointer(code, address, words.space)
    raw = code.value(
        "llvm.load", (place,), vector_type(words.count, element) if many else element, _attributes(code, words, kind)
    )
    return [extract(code.trace, raw, i, element) for i in range(words.count)] if many else raw


def _store(code: Code, address: Value, *values: Value, words: _Words, kind: str) -> None:
    raw = join(code.trace, list(values), mlir_of(kind)) if words.count > 1 else values[0]
    code.effect("llvm.store", (raw, pointer(code, address, words.space)), _attributes(code, words, kind))


def pointer(code: Code, address: Value, space: AddressSpace) -> Value:
    """The MLIR pointer of an address."""
    if space is AddressSpace.smem:
        return shared_pointer(code.trace, code.resized(address, 64))
    if space is AddressSpace.dsmem:
        return cluster_pointer(code.trace, code.resized(address, 64))
    return code.value("llvm.inttoptr", (code.resized(address, 64),), space.pointer_type)


# updates ------------------------------------------------------------------------------------------------------------
_UPDATES = {"exch": 0, "add": 1, "and": 3, "or": 5, "xor": 6, "max": 7, "min": 8}
_UNSIGNED = {"max": 9, "min": 10}
FLOAT_ADD = 11
_SEMANTICS = ("relaxed", "acquire", "release", "acq_rel")


def update(instruction: Instruction) -> Lowering | None:
    """`atom` and `red`: one number, read and written at once."""
    words = _read(instruction.marks, _SEMANTICS)
    if words is None or words.count != 1 or len(words.rest) != 2:
        return None
    operation, kind = words.rest
    if WIDTHS.get(kind) not in (32, 64) or "x" in kind:
        return None
    returns = instruction.name == "atom"
    if operation == "cas":
        if not returns or kind[0] != "b":
            return None
        return Lowering((kind,), (ADDRESS, kind, kind), partial(_exchange, words=words, kind=kind), effect=True)
    number = _operation(operation, kind)
    if number is None or (operation == "exch" and not returns):
        return None
    function = partial(_update, words=words, kind=kind, number=number, returns=returns)
    return Lowering((kind,) if returns else (), (ADDRESS, kind), function, effect=True)


def _operation(operation: str, kind: str) -> int | None:
    """LLVM's number of an update that there is for the type."""
    if kind in FLOATS:
        return FLOAT_ADD if operation == "add" else None
    letters = {"exch": "b", "and": "b", "or": "b", "xor": "b"}.get(operation, "us")
    if operation not in _UPDATES or kind[0] not in letters or (operation, kind) == ("add", "s64"):
        return None
    return _UPDATES[operation] if is_signed(kind) else _UNSIGNED.get(operation, _UPDATES[operation])


def _update(
    code: Code, address: Value, value: Value, *, words: _Words, kind: str, number: int, returns: bool
) -> Value | None:
    integer = code.trace.builder.integer
    attributes = {
        "bin_op": integer("i64", number),
        "ordering": integer("i64", ordering(words.order or None)),
        "alignment": integer("i64", WIDTHS[kind] // 8),
        **scope_attributes(code.trace, words.scope or None),
    }
    old = code.value("llvm.atomicrmw", (pointer(code, address, words.space), value), mlir_of(kind), attributes)
    return old if returns else None


def _exchange(code: Code, address: Value, expected: Value, value: Value, *, words: _Words, kind: str) -> Value:
    integer = code.trace.builder.integer
    order = ordering(words.order or None)
    attributes = {
        "success_ordering": integer("i64", order),
        "failure_ordering": integer("i64", ACQUIRE if order in (ACQUIRE, ACQUIRE_RELEASE) else RELAXED),
        "alignment": integer("i64", WIDTHS[kind] // 8),
        **scope_attributes(code.trace, words.scope or None),
    }
    operands = (pointer(code, address, words.space), expected, value)
    pair = code.value("llvm.cmpxchg", operands, f"!llvm.struct<({mlir_of(kind)}, i1)>", attributes)
    return code.value("llvm.extractvalue", (pair,), mlir_of(kind), code.position(0))


# order and caches ---------------------------------------------------------------------------------------------------
def fence(instruction: Instruction) -> Lowering | None:
    """`fence.sc`, `fence.acq_rel` and `membar`."""
    marks = instruction.marks
    if instruction.name == "membar":
        scopes: dict[tuple[str, ...], str] = {("cta",): "cta", ("gl",): "gpu", ("sys",): "sys"}
        scope = scopes.get(marks)
        order = _SEQUENTIAL
    else:
        scope = marks[1] if len(marks) == 2 and marks[1] in _SCOPES else None
        orders = {"sc": _SEQUENTIAL, "acq_rel": ACQUIRE_RELEASE}
        order = orders.get(marks[0], 0) if marks else 0
    if scope is None or not order:
        return None

    def function(code: Code) -> None:
        attributes = {"ordering": code.trace.builder.integer("i64", order), **scope_attributes(code.trace, scope)}
        code.effect("llvm.fence", (), attributes)

    return Lowering((), (), function, effect=True)


def prefetch(instruction: Instruction) -> Lowering | None:
    """`prefetch`: which cache it is for no CPU says."""
    if instruction.marks not in (("global", "L1"), ("global", "L2"), ("L1",), ("L2",)):
        return None
    space = AddressSpace.gmem if "global" in instruction.marks else AddressSpace.generic
    function = partial(_prefetch, space=space)
    return Lowering((), (ADDRESS,), function, effect=True)


def _prefetch(code: Code, address: Value, *, space: AddressSpace) -> None:
    code.effect(PREFETCH, (pointer(code, address, space),))


def between_spaces(instruction: Instruction) -> Lowering | None:
    """`cvta`: an address of one memory as the generic one, and back."""
    marks = instruction.marks
    inward = marks[:1] == ("to",)
    rest = marks[1:] if inward else marks
    if len(rest) != 2 or rest[0] not in _SPACES or rest[0] == "shared::cluster" or rest[1] != "u64":
        return None
    space = _SPACES[rest[0]]

    def function(code: Code, address: Value) -> Value:
        if space is AddressSpace.gmem:
            return address
        start = code.value("llvm.ptrtoint", (shared_pointer(code.trace, code.integer(64, 0)),), "i64")
        return code.like("arith.subi" if inward else "arith.addi", address, start)

    return Lowering(("u64",), ("u64",), function)
