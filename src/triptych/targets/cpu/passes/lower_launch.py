"""Passes `check-launch`, `lower-launch`: a `gpu.launch_func` becomes a call of the thread pool that runs some blocks.

Input: the launches in the host function, and for every kernel `k` the function `k.blocks` that runs a range of blocks
(see `kernel_functions`). Output: host code that packs the arguments on its stack, and `k.chunk`, which unpacks them.
`k.blocks` gets one more parameter, the launch, through which it reports faults and hears of interrupts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from triptych.diagnostics.kernel_errors import BlockMemoryError, CooperativeLaunchError, LaunchShapeError
from triptych.ir import bindings
from triptych.ir.builder import Builder, builder_before
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Block, Location, Module, Operation, Value
from triptych.ir.launch import Launch, launches
from triptych.ir.location import place_of
from triptych.ir.modules import append_ir, callee, function, operations_named, symbols, text_constant
from triptych.ir.types import type_text
from triptych.kernel_ir.dialects.check import TABLE_ATTRIBUTE
from triptych.kernel_ir.dialects.kernel_operations import CLUSTER_ATTRIBUTE, constant_of
from triptych.targets.cpu.abi.abi import (
    ALIGNMENT,
    CHECK_DISCARD,
    LAUNCH,
    LAUNCH_DECLARATION,
    NO_ROOM,
    POLL,
    POLL_DECLARATION,
    SHARED_ALIGNMENT,
    padded_value,
)
from triptych.targets.cpu.abi.kernel_functions import (
    BLOCKS,
    KERNEL_ATTRIBUTE,
    LAUNCH_REQUEST,
    MEMORY_ATTRIBUTE,
    POLL_REQUEST,
    check_status,
    check_zero,
    enclosing_function,
)

_CHUNK = ".chunk"
_CONTAINER = "gpu.container_module"
_POLL_PERIOD = 64
"""Passes of a place between two looks: a look takes 30 ns, and 64 passes of a loop should not take long."""
_DESCRIPTION = 7
"""Numbers that follow the kernel's own arguments: six dimensions and the bytes of shared memory."""
MOST_BYTES = 256 << 20
"""Memory of one block; every thread of the pool has as much."""
MOST_TOGETHER = 1024
"""Blocks of a cooperative launch: a GPU with 128 processors has room for as many of 256 threads."""


def lower_launch(module: Module) -> None:
    """Replace every launch of the module and drop what is left of its kernels."""
    if _CONTAINER not in module.operation.attributes:
        return
    with module.context:
        for name, operation in symbols(module).items():
            if name.endswith(BLOCKS):
                _BlocksFunction(operation).take_launch()
        for launch in launches(module):
            _lower(module, launch)
        append_ir(module, LAUNCH_DECLARATION + POLL_DECLARATION)
        _drop_kernels(module)


def _drop_kernels(module: Module) -> None:
    for operation in list(module.body.operations):
        name = operation.attributes["sym_name"].value if "sym_name" in operation.attributes else ""
        is_request = name in (POLL_REQUEST, LAUNCH_REQUEST)
        if operation.operation.name == "gpu.module" or is_request:
            operation.operation.erase()
    del module.operation.attributes[_CONTAINER]


def _at_start(block: Block, location: Location) -> Builder:
    builder = Builder(block.owner.context, location)
    builder.insertion = builder.at_start(block)
    return builder


def _stack(code: Builder, kind: str) -> Value:
    """Room for one value, at the insertion point: the entry block, or every pass of a loop would take more."""
    element = {"elem_type": code.type_attribute(kind)}
    return code.value("llvm.alloca", (code.constant(1, "i64"),), "!llvm.ptr", element)


# `k.blocks` -----------------------------------------------------------------------------------------------------
class _BlocksFunction:
    """A function that runs blocks and is to know the launch they belong to."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._entry = operation.regions[0].blocks[0]

    def take_launch(self) -> None:
        ir = bindings.mlir()
        pointer = ir.Type.parse("!llvm.ptr")
        kind = ir.FunctionType(self._operation.attributes["function_type"].value)
        launch = self._entry.add_argument(pointer, self._operation.location)
        self._operation.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get([*kind.inputs, pointer], kind.results)
        )
        self._operation.attributes[KERNEL_ATTRIBUTE] = ir.UnitAttr.get()
        calls = operations_named(self._operation, "func.call")
        polls = [call for call in calls if callee(call) == POLL_REQUEST]
        for request in (call for call in calls if callee(call) == LAUNCH_REQUEST):
            request.results[0].replace_all_uses_with(launch)
            request.erase()
        if polls:
            counter = self._counter()
            for request in polls:
                _poll(request, counter, launch)

    def _counter(self) -> Value:
        code = _at_start(self._entry, self._operation.location)
        counter = _stack(code, "i32")
        code.operation("llvm.store", (code.constant(0, "i32"), counter))
        return counter


def _poll(request: Operation, counter: Value, launch: Value) -> None:
    """Count in a variable that LLVM keeps in a register, and look when the count is round."""
    code = builder_before(request)
    passed = code.value("arith.addi", (code.value("llvm.load", (counter,), "i32"), code.constant(1, "i32")), "i32")
    code.operation("llvm.store", (passed, counter))
    rest = code.value("arith.andi", (passed, code.constant(_POLL_PERIOD - 1, "i32")), "i32")
    branch = code.operation("scf.if", (code.compare("eq", rest, code.constant(0, "i32")),), regions=2)
    code.enter(code.append_block(branch, 0))
    check_status(code, POLL, (launch,))
    code.operation("scf.yield")
    request.erase()


# the host function ----------------------------------------------------------------------------------------------
def _lower(module: Module, given: Launch) -> None:
    ir = bindings.mlir()
    kernel, launch = given.kernel, given.operation
    blocks = function(module, kernel + BLOCKS)
    code = builder_before(launch)
    numbers = (*given.grid, *given.block, given.shared_bytes or code.constant(0, "i32"))
    types = [type_text(kind) for kind in ir.FunctionType(blocks.attributes["function_type"].value).inputs]
    record = f"!llvm.struct<({', '.join(types[: len(given.arguments) + _DESCRIPTION])})>"
    append_ir(module, _chunk_text(kernel, types, record))
    packed = _pack(launch, record, (*given.arguments, *numbers), code)
    symbol = code.attribute(f'@"{kernel}{_CHUNK}"')
    chunk = code.value("llvm.mlir.addressof", (), "!llvm.ptr", {"global_name": symbol})
    total = _total(code, given.grid, launch)
    together = _blocks_together(blocks)
    if given.cluster:
        _check_whole_clusters(code, given)
        total = code.value("arith.divui", (total, code.constant(together, "i64")), "i64")
    identity = _identity(module, kernel, launch, code, together)
    own = int(blocks.attributes[MEMORY_ATTRIBUTE].value) if MEMORY_ATTRIBUTE in blocks.attributes else 0
    facts = _memory_facts(launch, own)
    memory = _memory(code, own, numbers[-1], facts, together)
    if given.cooperative:
        _check_together(code, total, launch)
    as_one = code.constant(int(given.cooperative), "i32")
    status = code.call(LAUNCH, (chunk, packed, total, *given.block[:2], identity, memory, as_one), ["i32"]).result
    if TABLE_ATTRIBUTE in launch.attributes:
        name = {"global_name": code.attribute(f'@"{launch.attributes[TABLE_ATTRIBUTE].value}"')}
        code.call(CHECK_DISCARD, (code.value("llvm.mlir.addressof", (), "!llvm.ptr", name), status))
    has_room = code.compare("ne", status, code.constant(NO_ROOM, "i32"))
    code.check(has_room, BlockMemoryError, "the system has no memory for a block of this kernel", **facts)
    check_zero(code, status)
    launch.erase()


def _identity(module: Module, kernel: str, launch: Operation, code: Builder, together: int) -> Value:
    """The address of a text that a fault of the machine prints."""
    span = place_of(launch)
    where = "" if span is None else f", launched at {span.file}:{span.line}"
    where += f" in clusters of {together}" if together > 1 else ""
    name = f"triptych.identity{sum(found.startswith('triptych.identity') for found in symbols(module))}"
    append_ir(module, text_constant(name, f"the kernel {kernel}{where}"))
    return code.value("llvm.mlir.addressof", (), "!llvm.ptr", {"global_name": code.attribute(f"@{name}")})


def _pack(launch: Operation, record: str, values: Sequence[Value], code: Builder) -> Value:
    host = enclosing_function(launch)
    packed = _stack(_at_start(host.regions[0].blocks[0], launch.location), record)
    for i, value in enumerate(values):
        place = code.value(
            "llvm.getelementptr",
            (packed,),
            "!llvm.ptr",
            {
                "elem_type": code.type_attribute(record),
                "rawConstantIndices": code.attribute(f"array<i32: 0, {i}>"),
            },
        )
        code.operation("llvm.store", (value, place))
    return packed


def _total(code: Builder, grid: Sequence[Value], launch: Operation) -> Value:
    """The number of blocks; one that no counter holds is refused."""
    x, y, z = (code.value("arith.extsi", (n,), "i64") for n in grid)
    plane = code.value("arith.muli", (x, y), "i64")
    low, high = code.operation("arith.mulsi_extended", (plane, z), ["i64"] * 2).results
    zero = code.constant(0, "i64")
    fits = code.value("arith.andi", (code.compare("eq", high, zero), code.compare("sge", low, zero)), "i1")
    facts = {"span": place_of(launch), "expected": "fewer than 2**63 in all", "instead": "a smaller grid"}
    code.check(fits, LaunchShapeError, "a grid has too many blocks", **facts)
    return low


def _blocks_together(blocks: Operation) -> int:
    """How many blocks a call of `k.blocks` with one number runs: those of a cluster that reach each other."""
    return prod(blocks.attributes[CLUSTER_ATTRIBUTE]) if CLUSTER_ATTRIBUTE in blocks.attributes else 1


def _check_whole_clusters(code: Builder, launch: Launch) -> None:
    """A grid is made of whole clusters."""
    for axis, size, extent in zip("xyz", launch.grid, launch.cluster, strict=True):
        rest = code.value("arith.remui", (size, extent), "i32")
        facts = {
            "span": place_of(launch.operation),
            "found": f"a number of blocks along {axis} that is no multiple of the cluster's",
            "expected": "a grid of whole clusters",
            "instead": "the grid rounded up to a multiple of the cluster: `cute.round_up(blocks, cluster)`",
        }
        whole = code.compare("eq", rest, code.constant(0, "i32"))
        code.check(whole, LaunchShapeError, "a grid is not made of whole clusters", **facts)


def _check_together(code: Builder, total: Value, launch: Operation) -> None:
    """Blocks that wait for each other need a thread each."""
    fits = code.compare("sle", total, code.constant(MOST_TOGETHER, "i64"))
    facts = {
        "span": place_of(launch),
        "found": f"more than {MOST_TOGETHER} blocks",
        "expected": f"at most {MOST_TOGETHER} blocks, each of which has a thread of the CPU",
        "instead": "a smaller grid whose blocks loop over the work, or no `cooperative=True`",
    }
    code.check(fits, CooperativeLaunchError, "a cooperative launch has more blocks than can run together", **facts)


def _memory(code: Builder, own: int, shared: Value, facts: Mapping[str, Any], blocks: int) -> Value:
    """The bytes that blocks need that run together, shared memory and their own; more than the limit is refused."""
    alignment = SHARED_ALIGNMENT if blocks > 1 else ALIGNMENT
    each = padded_value(code, code.value("arith.extui", (shared,), "i64"), alignment)
    before = code.value("arith.muli", (each, code.constant(blocks, "i64")), "i64")
    memory = code.value("arith.addi", (before, code.constant(own, "i64")), "i64")
    fits = code.compare("ule", memory, code.constant(MOST_BYTES, "i64"))
    title = f"a block of this kernel needs more than {MOST_BYTES >> 20} MiB of memory"
    code.check(fits, BlockMemoryError, title, **facts)
    return memory


def _memory_facts(launch: Operation, own: int) -> dict[str, Any]:
    return {
        "span": place_of(launch),
        "found": f"{own / (1 << 20):.1f} MiB of register tensors and values that are live across barriers",
        "expected": f"at most {MOST_BYTES >> 20} MiB for a block, shared memory included",
        "instead": "smaller register tensors, or fewer threads in a block",
    }


def _chunk_text(kernel: str, types: Sequence[str], record: str) -> str:
    """The function that the pool calls with a range of blocks."""
    names = [f"%value{i}" for i in range(len(types) - 3)]
    loads = "".join(
        f"""
  %place{i} = llvm.getelementptr %packed[0, {i}] : (!llvm.ptr) -> !llvm.ptr, {record}
  %value{i} = llvm.load %place{i} : !llvm.ptr -> {kind}"""
        for i, kind in enumerate(types[:-3])
    )
    return f"""
func.func private @"{kernel}{BLOCKS}"({", ".join(types)})
llvm.func internal @"{kernel}{_CHUNK}"(%packed: !llvm.ptr, %begin: i64, %end: i64, %launch: !llvm.ptr) {{{loads}
  func.call @"{kernel}{BLOCKS}"({", ".join([*names, "%begin", "%end", "%launch"])}) : ({", ".join(types)}) -> ()
  llvm.return
}}
"""


# Pass `check-launch`: refuse launches whose clusters have more blocks than any machine runs together.

_MOST_BLOCKS = 16


def check_launch(module: Module) -> None:
    """Raise at the first launch in clusters that are too large."""
    for launch in launches(module):
        blocks = prod(constant_of(extent) or 1 for extent in launch.cluster)
        if blocks > _MOST_BLOCKS:
            raise LoweringError(
                f"a cluster has at most {_MOST_BLOCKS} blocks",
                span=place_of(launch.operation),
                found=f"a cluster of {blocks} blocks",
                expected=f"1 to {_MOST_BLOCKS} blocks",
                instead="a smaller `cluster`",
            )
