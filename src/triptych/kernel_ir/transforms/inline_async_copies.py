"""Pass `inline-async-copies`: an asynchronous copy is a load and a store, complete when it has been asked for.

Waiting for it then does nothing. A program that forgets to wait gets a result then that no GPU promises.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Block, Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.kernel_ir.dialects.kernel_operations import constant_of, defining_op
from triptych.kernel_ir.dialects.simt import ASYNC_COMMIT, ASYNC_COPY, ASYNC_WAIT

_NOTHING_TO_DO = (ASYNC_COMMIT, ASYNC_WAIT)
COPIES = frozenset({ASYNC_COPY, *_NOTHING_TO_DO})
"""All that asynchronous copies are written with."""


def inline_async_copies(module: Module) -> None:
    """Rewrite the copies and drop what waits for them."""
    for operation in operations_named(module, *COPIES):
        if operation.name == ASYNC_COPY:
            _copy(operation)
        operation.erase()


def _copy(operation: Operation) -> None:
    target, source, *given = operation.operands
    size = int(operation.attributes["size"].value)
    code = Builder(operation.context, operation.location)
    code.insertion = code.before(operation)
    if given:
        _copy_first_bytes(code, source, target, size, given[0])
    else:
        _copy_word(code, source, target, size)


def _copy_first_bytes(code: Builder, source: Value, target: Value, size: int, count: Value) -> None:
    """What follows the first `count` bytes becomes zero, and is not read: it may lie behind the end of an array."""
    guard = _all_or_nothing(count, size)
    is_whole = code.compare("uge", count, code.constant(size, "i32")) if guard is None else guard
    choice = code.operation("scf.if", (is_whole,), regions=2)
    with _inside(code, code.append_block(choice, 0)):
        _copy_word(code, source, target, size)
    with _inside(code, code.append_block(choice, 1)):
        zeros = {"value": code.attribute(_zeros(_word(size)))}
        _store(code, code.value("arith.constant", (), _word(size), zeros), target, size)
        if guard is not None:
            return
        bounds = (code.constant(0, "i32"), count, code.constant(1, "i32"))
        loop = code.operation("scf.for", bounds, regions=1)
        each = code.append_block(loop, 0, ["i32"])
        with _inside(code, each):
            read, written = (_byte(code, pointer, each.arguments[0]) for pointer in (source, target))
            _store(code, _load(code, read, "i8", 1), written, 1)


def _all_or_nothing(count: Value, size: int) -> Value | None:
    """What decides between all bytes and none, if it is one of the two: `copy` with a predicate."""
    choice = defining_op(count)
    if choice is None or choice.name != "arith.select":
        return None
    guard, *sizes = choice.operands
    return guard if list(map(constant_of, sizes)) == [size, 0] else None


@contextmanager
def _inside(code: Builder, block: Block) -> Iterator[None]:
    """Write the whole of a block that gives no values."""
    before = code.enter(block)
    yield
    code.operation("scf.yield")
    code.leave(before)


def _copy_word(code: Builder, source: Value, target: Value, size: int) -> None:
    _store(code, _load(code, source, _word(size), size), target, size)


def _word(size: int) -> str:
    return f"vector<{size // 4}xi32>" if size > 4 else "i32"


def _zeros(kind: str) -> str:
    return f"{'dense<0>' if kind.startswith('vector') else '0'} : {kind}"


def _load(code: Builder, pointer: Value, kind: str, alignment: int) -> Value:
    return code.value("llvm.load", (pointer,), kind, _access(code, alignment))


def _store(code: Builder, value: Value, pointer: Value, alignment: int) -> None:
    code.operation("llvm.store", (value, pointer), attributes=_access(code, alignment))


def _access(code: Builder, alignment: int) -> dict[str, Attribute]:
    return {"alignment": code.integer("i64", alignment), "ordering": code.integer("i64", 0)}


def _byte(code: Builder, pointer: Value, index: Value) -> Value:
    attributes = {
        "rawConstantIndices": code.attribute("array<i32: -2147483648>"),
        "elem_type": code.attribute("i8"),
    }
    return code.value("llvm.getelementptr", (pointer, index), pointer.type, attributes)
