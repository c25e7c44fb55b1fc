"""Pass `lower-threads`: a block is a row of work-items, and the launch says in parameters what CUDA has in registers.

OpenCL devices number the lanes of sub-groups along the first dimension only, while a warp goes on through all three:
blocks are launched as rows, and `threadIdx` is computed. Four parameters follow those of every kernel: the block's
extents along x and y, the address where a failed check leaves its number, and shared memory, which OpenCL can only
give as a parameter when the launch decides its size.
"""

from __future__ import annotations

from math import prod

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import SHARED, SHARED_ALIGNMENT, kernels, operations_named
from triptych.ir.types import SHARED_SPACE, pointer_to
from triptych.kernel_ir.dialects.kernel_operations import BLOCK_ATTRIBUTE, body, dimension, known_block
from triptych.targets.spirv import LANES, builtins

INDICES = ("gpu.thread_id", "gpu.block_id", "gpu.block_dim", "gpu.grid_dim", "gpu.lane_id")
HIDDEN = ("i32", "i32", "!llvm.ptr<1>", pointer_to(SHARED_SPACE))
"""Types of the parameters that every kernel has beside its own: see above."""


def lower_threads(module: Module) -> None:
    """Give every kernel its parameters, and compute its indices from them."""
    for kernel in kernels(module):
        _Threads(kernel).lower()
    for shared in operations_named(module, "llvm.mlir.global"):
        if shared.attributes["sym_name"].value == SHARED:
            shared.erase()


class _Threads:
    """One kernel: what its indices are made of, at its start."""

    def __init__(self, kernel: Operation) -> None:
        self._kernel = kernel
        self._builder = builder = Builder(kernel.context, kernel.location)
        entry = body(kernel)
        hidden = [entry.add_argument(builder.type(kind), kernel.location) for kind in HIDDEN]
        self._columns, self._rows, _, self._shared = hidden
        ir = bindings.mlir()
        types = [argument.type for argument in entry.arguments]
        kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [], context=kernel.context))
        self._known = known_block(kernel)
        if self._known is not None:
            kernel.attributes[BLOCK_ATTRIBUTE] = ir.DenseI32ArrayAttr.get([prod(self._known), 1, 1], kernel.context)
        self._made: dict[tuple[str, int], Value] = {}

    def lower(self) -> None:
        builder = self._builder
        builder.insertion = builder.at_start(body(self._kernel))
        addresses = operations_named(self._kernel, "llvm.mlir.addressof")
        shared = [address for address in addresses if address.attributes["global_name"].value == SHARED]
        indices = operations_named(self._kernel, *INDICES)
        if shared:
            aligned = self._aligned()
            for address in shared:
                address.results[0].replace_all_uses_with(aligned)
        for operation in indices:
            along = dimension(operation) if "dimension" in operation.attributes else 0
            operation.results[0].replace_all_uses_with(self._index(operation.name, along))
        for operation in (*shared, *indices):  # the builder stands in front of one of them
            operation.erase()

    def _aligned(self) -> Value:
        """Where shared memory begins: the launch gives more than was asked for, because OpenCL aligns it less."""
        builder = self._builder
        address = builder.value("llvm.ptrtoint", (self._shared,), "i64")
        raised = builder.value("arith.addi", (address, builder.constant(SHARED_ALIGNMENT - 1, "i64")), "i64")
        aligned = builder.value("arith.andi", (raised, builder.constant(-SHARED_ALIGNMENT, "i64")), "i64")
        return builder.value("llvm.inttoptr", (aligned,), HIDDEN[3])

    def _index(self, name: str, along: int) -> Value:
        if (name, along) not in self._made:
            made = self._number(name, along)
            self._made[name, along] = self._builder.value("arith.index_castui", (made,), "index")
        return self._made[name, along]

    def _number(self, name: str, along: int) -> Value:
        if name == "gpu.block_id":
            return self._asked(builtins.GROUP_ID, along)
        if name == "gpu.grid_dim":
            return self._asked(builtins.GROUPS, along)
        if name == "gpu.block_dim":
            return self._extent(along)
        thread = self._asked(builtins.LOCAL_ID, 0)
        if name == "gpu.lane_id":
            return self._computed("arith.andi", thread, self._builder.constant(LANES - 1, "i32"))
        return self._coordinate(thread, along)

    def _coordinate(self, thread: Value, along: int) -> Value:
        if self._known is not None and self._known[along] == 1:
            return self._builder.constant(0, "i32")
        for before in range(along):
            thread = self._computed("arith.divui", thread, self._extent(before))
        is_last = along == 2 or (self._known is not None and prod(self._known[along + 1 :]) == 1)
        return thread if is_last else self._computed("arith.remui", thread, self._extent(along))

    def _extent(self, along: int) -> Value:
        if self._known is not None:
            return self._builder.constant(self._known[along], "i32")
        if along < 2:
            return (self._columns, self._rows)[along]
        plane = self._computed("arith.muli", self._columns, self._rows)
        return self._computed("arith.divui", self._asked(builtins.LOCAL_SIZE, 0), plane)

    def _asked(self, function: str, along: int) -> Value:
        builder = self._builder
        found = builtins.value_of(builder, self._kernel, function, [builder.constant(along, "i32")], "i64")
        return builder.value("arith.trunci", (found,), "i32")

    def _computed(self, name: str, left: Value, right: Value) -> Value:
        return self._builder.value(name, (left, right), "i32")


# Pass `name-sub-groups`: every kernel asks for sub-groups of as many lanes as a warp has.

_NO_FUNCTIONS_OF_C = '["no-builtins"]'
"""LLVM would join stores to `memset`; compilers of OpenCL then end for some private arrays."""


def name_sub_groups(module: Module) -> None:
    """Say so on the functions of LLVM."""
    builder = Builder(module.context)
    for function in operations_named(module, "llvm.func"):
        if function.regions[0].blocks:
            function.attributes["intel_reqd_sub_group_size"] = builder.integer("i32", LANES)
            function.attributes["passthrough"] = builder.attribute(_NO_FUNCTIONS_OF_C)
