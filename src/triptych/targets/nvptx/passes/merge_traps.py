"""Pass `merge-traps`: all failing checks of a kernel end in one call of `__assertfail`.

A call needs five arguments in their places; a check only has to bring what is its own, the message and the line.
Addresses of texts are read from constant memory: as numbers in the code they would take twice as many instructions.

In a kernel with WGMMA, or whose warpgroups pass registers to one another, they end in a trap, without a message:
wherever it stands, a call of a function that the assembler does not see makes it wait for every single product, and
ignore `setmaxnreg`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triptych.ir import bindings
from triptych.ir.builder import Builder, builder_before
from triptych.ir.handles import Block, InsertionPoint, Module, Operation, Value
from triptych.ir.modules import callee, kernels, operations_named
from triptych.kernel_ir.dialects.kernel_operations import enclosing, producer
from triptych.kernel_ir.dialects.opdef import WgmmaStep
from triptych.kernel_ir.dialects.tile import WGMMA_STEPS

CALLS = frozenset({"llvm.call"})
_FAIL = "__assertfail"
_INTRINSIC = "llvm.call_intrinsic"
_PASSES_REGISTERS = "llvm.nvvm.setmaxnreg."
_CONSTANT_MEMORY = 4


def merge_traps(module: Module) -> None:
    """Let every failing check jump to a block at the end of its kernel that makes the call."""
    for function in kernels(module, "llvm.func"):
        found = operations_named(function, *CALLS, *WGMMA_STEPS, _INTRINSIC)
        calls = [call for call in found if "callee" in call.attributes]
        failing = [call for call in calls if callee(call) == _FAIL]
        if failing and any(map(_forbids_calls, found)):
            _stop(function, failing)
        elif failing:
            for call in failing:
                _read_addresses(call)
            _share(function, failing)


def _forbids_calls(operation: Operation) -> bool:
    if operation.name == _INTRINSIC:
        return bool(operation.attributes["intrin"].value.startswith(_PASSES_REGISTERS))
    return WGMMA_STEPS.get(operation.name) is WgmmaStep.BEGIN


def _stop(function: Operation, calls: list[Operation]) -> None:
    """End the kernel instead of making the calls."""
    builder = Builder(function.context, calls[0].location)
    shared = list(function.regions[0].blocks)[-1].create_after()
    builder.insertion = builder.at_end(shared)
    builder.operation("llvm.intr.trap")
    builder.operation("llvm.unreachable")
    for call in calls:
        _jump(builder, call, shared)


def _jump(builder: Builder, call: Operation, shared: Block, brought: Sequence[Value] = ()) -> None:
    """Go to the block that all checks share, instead of making the call."""
    end = list(call.operation.block.operations)[-1].operation
    builder.insertion = builder.before(end)
    builder.operation("llvm.br", brought, location=call.location, successors=[shared])
    end.erase()
    call.erase()


# Texts ----------------------------------------------------------------------------------------------------------------
def _read_addresses(call: Operation) -> None:
    """Read the arguments that are addresses from constant memory."""
    builder = builder_before(call)
    for place, operand in enumerate(call.operands):
        name = _text(operand)
        if name is not None:
            place_of_address = {"global_name": builder.attribute(f'@"{_address(call, name)}"')}
            constant = builder.type(f"!llvm.ptr<{_CONSTANT_MEMORY}>")
            where = builder.value("llvm.mlir.addressof", (), constant, place_of_address)
            call.operands[place] = builder.value("llvm.load", (where,), operand.type)


def _text(operand: Value) -> str | None:
    """The name of the text whose address is passed."""
    address = producer(operand)
    if address.name != "llvm.getelementptr":
        return None
    text = producer(address.operands[0])
    return str(bindings.mlir().FlatSymbolRefAttr(text.attributes["global_name"]).value)


def _address(call: Operation, text: str) -> str:
    """A variable that holds the address of a text. LLVM must not look into it, so it says that others may set it."""
    ir = bindings.mlir()
    device = enclosing(enclosing(call))
    name = f"{text}_address"
    body = device.regions[0].blocks[0]
    if all(other.attributes["sym_name"].value != name for other in body.operations):
        written = ir.Module.parse(
            f'llvm.mlir.global internal constant @"{text}"() : i8\n'
            f'llvm.mlir.global internal @"{name}"() {{addr_space = {_CONSTANT_MEMORY} : i32, externally_initialized}}'
            f' : !llvm.ptr {{\n  %0 = llvm.mlir.addressof @"{text}" : !llvm.ptr\n  llvm.return %0 : !llvm.ptr\n}}'
        )
        list(written.body.operations)[1].operation.clone(Builder(call.context).at_start(body))
    return name


# The call -------------------------------------------------------------------------------------------------------------
def _share(function: Operation, calls: list[Operation]) -> None:
    builder = Builder(function.context, calls[0].location)
    own = list(_own(calls))
    last = list(function.regions[0].blocks)[-1]
    types = [calls[0].operands[place].type for place in own]
    shared = last.create_after(*types, arg_locs=[calls[0].location] * len(own))
    arguments = dict(zip(own, shared.arguments, strict=True))
    end = builder.at_end(shared)
    given = [arguments.get(place) or _again(operand, end) for place, operand in enumerate(calls[0].operands)]
    call = calls[0].clone(end)
    for place, argument in enumerate(given):
        call.operands[place] = argument
    builder.insertion = end
    builder.operation("llvm.unreachable")
    for failed in calls:
        _jump(builder, failed, shared, [failed.operands[place] for place in own])


def _own(calls: list[Operation]) -> Iterator[int]:
    """The places of arguments that differ between the calls."""
    for place in range(len(calls[0].operands)):
        if len({_meaning(call.operands[place]) for call in calls}) > 1:
            yield place


def _meaning(operand: Value) -> str:
    """The text of the constant, or of the variable that is read."""
    operation = producer(operand)
    attributes = producer(operation.operands[0]).attributes if operation.operands else operation.attributes
    return str(attributes["global_name" if operation.operands else "value"])


def _again(operand: Value, end: InsertionPoint) -> Value:
    """The same constant, or the same variable, read where it is needed."""
    operation = producer(operand)
    copies = [_again(source, end) for source in operation.operands]
    copy = operation.clone(end)
    for place, source in enumerate(copies):
        copy.operands[place] = source
    return copy.result
