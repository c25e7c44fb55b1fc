"""Pass `lower-coroutines`: functions of warps that wait become LLVM coroutines.

Runs on a flat control-flow graph, after checks have become branches. A request to suspend ends its block; the first one
stands where the function begins, so that it returns its handle at once. Every return leads to one last suspension, at
which the caller sees that the warp has ended.
"""

from __future__ import annotations

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Block, Module, Operation, Value
from triptych.ir.modules import append_ir, callee, symbols
from triptych.kernel_ir.dialects.kernel_operations import constant_of, owner_op
from triptych.targets.cpu.abi.kernel_functions import (
    COROUTINE_ATTRIBUTE,
    FRAME_ALIGNMENT,
    FRAME_ALIGNMENT_ATTRIBUTE,
    SUSPEND_REQUEST,
)
from triptych.targets.cpu.abi.system import ALLOCATE

_DECLARATIONS = f"""
llvm.func @{ALLOCATE}(i64, i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
"""
_TOKEN = "token"
_CALLS = frozenset({"func.call", "llvm.call"})


def lower_coroutines(module: Module) -> None:
    """Rewrite the marked functions."""
    with module.context:
        marked = [found for found in symbols(module).values() if COROUTINE_ATTRIBUTE in found.attributes]
        for function in marked:
            append_ir(module, _DECLARATIONS)
            called = function.attributes[COROUTINE_ATTRIBUTE]
            symbols(module)[called.value].erase()
            _Coroutine(function).rewrite()
            function.attributes["sym_name"] = called
        request = symbols(module).get(SUSPEND_REQUEST)
        if request is not None:
            request.erase()


class _Coroutine:
    """One function on its way. The blocks at its end: `last` suspends for good, `cleanup` frees, `leave` returns."""

    def __init__(self, function: Operation) -> None:
        self._ir = bindings.mlir()
        self._function = function
        self._region = function.regions[0]
        self._pointer = self._ir.Type.parse("!llvm.ptr")
        self._code = Builder(function.context, function.location)
        said = FRAME_ALIGNMENT_ATTRIBUTE in function.attributes
        self._alignment = function.attributes[FRAME_ALIGNMENT_ATTRIBUTE].value if said else FRAME_ALIGNMENT
        self._handle: Value
        self._identity: Value

    def rewrite(self) -> None:
        ir = self._ir
        for attribute in {COROUTINE_ATTRIBUTE, FRAME_ALIGNMENT_ATTRIBUTE} & set(self._function.attributes):
            del self._function.attributes[attribute]
        body = list(self._region.blocks)
        self._leave, self._cleanup, self._last = (self._region.blocks.append() for _ in range(3))
        self._begin(body[0])
        self._code.insertion = self._code.at_end(self._last)
        self._suspend(self._cleanup, final=True)
        self._free()
        for block in body:
            self._split(block)
        kind = ir.FunctionType(self._function.attributes["function_type"].value)
        self._function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kind.inputs, [self._pointer]))
        self._function.attributes["llvm.presplit"] = ir.UnitAttr.get()

    def _begin(self, entry: Block) -> None:
        code, alignment = self._code, self._alignment
        code.insertion = code.at_start(entry)
        self._hoist_passed(entry)
        null = code.value("llvm.mlir.zero", (), "!llvm.ptr")
        self._identity = code.value("llvm.intr.coro.id", (code.constant(alignment, "i32"), null, null, null), _TOKEN)
        size = code.value("llvm.intr.coro.size", (), "i64")
        more = code.value("llvm.add", (size, code.constant(alignment - 1, "i64")), "i64")
        whole = code.value("llvm.and", (more, code.constant(-alignment, "i64")), "i64")
        memory = code.call(ALLOCATE, (code.constant(alignment, "i64"), whole), ["!llvm.ptr"]).result
        self._handle = code.value("llvm.intr.coro.begin", (self._identity, memory), "!llvm.ptr")
        # LLVM splits a coroutine into what runs before it first suspends and what may run later. A wait may find that
        # it need not suspend, so all of the code would be in both: twice as much to optimise.
        code.operation("func.call", attributes={"callee": code.attribute(f"@{SUSPEND_REQUEST}")})

    def _hoist_passed(self, entry: Block) -> None:
        """Put variables whose addresses are passed to functions in front of everything.

        Once LLVM has seen that such a function does not retain the address, as in an exported object, it takes the
        variable for one that no wait outlives, leaves it where it is, behind the first wait, and that does not come
        before all of its uses.
        """
        for operation in [found.operation for found in entry.operations]:
            if operation.name != "llvm.alloca":
                continue
            if any(use.owner.operation.name in _CALLS for use in operation.results[0].uses):
                count = constant_of(operation.operands[0])
                assert count is not None, "variables have sizes that are known"
                operation.operands[0] = self._code.constant(count, operation.operands[0].type)
                operation.move_after(owner_op(operation.operands[0]))
                self._code.insertion = self._code.after_value(operation.results[0])

    def _free(self) -> None:
        code = self._code
        code.insertion = code.at_end(self._cleanup)
        memory = code.value("llvm.intr.coro.free", (self._identity, self._handle), "!llvm.ptr")
        code.call("free", (memory,))
        code.operation("cf.br", successors=[self._leave])
        code.insertion = code.at_end(self._leave)
        none = code.value("llvm.mlir.none", (), _TOKEN)
        code.value("llvm.intr.coro.end", (self._handle, code.constant(0, "i1"), none), "i1")
        code.operation("func.return", (self._handle,))

    def _suspend(self, resumed: Block, *, final: bool) -> None:
        code = self._code
        none = code.value("llvm.mlir.none", (), _TOKEN)
        way = code.value("llvm.intr.coro.suspend", (none, code.constant(int(final), "i1")), "i8")
        attributes = {
            "case_values": code.attribute("dense<[0, 1]> : vector<2xi8>"),
            "case_operand_segments": code.attribute("array<i32: 0, 0>"),
            "operandSegmentSizes": code.attribute("array<i32: 1, 0, 0>"),
        }
        code.operation("cf.switch", (way,), attributes=attributes, successors=[self._leave, resumed, self._cleanup])

    def _split(self, block: Block) -> None:
        code, current = self._code, block
        for operation in [found.operation for found in block.operations]:
            if current is not block:
                operation.detach_from_parent()
                current.append(operation)
            if operation.name == "func.return":
                code.insertion = code.before(operation)
                code.operation("cf.br", successors=[self._last])
                operation.erase()
            elif operation.name == "func.call" and callee(operation) == SUSPEND_REQUEST:
                following = current.create_after()
                code.insertion = code.before(operation)
                self._suspend(following, final=False)
                operation.erase()
                current = following


def mark_presplit(module: Module) -> None:
    """After the conversion to the LLVM dialect: tell LLVM which functions are coroutines."""
    ir = bindings.mlir()
    with module.context:
        for function in symbols(module).values():
            if "llvm.presplit" in function.attributes or "presplit" in function.attributes:
                for name in ("llvm.presplit", "presplit"):
                    if name in function.attributes:
                        del function.attributes[name]
                function.attributes["passthrough"] = ir.Attribute.parse('["presplitcoroutine", "noinline"]')
