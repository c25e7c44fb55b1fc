"""Pass `lower-assert`: run-time checks become branches, and the function returns a status before its results.

Runs on a flat control-flow graph. A failing check jumps to one block that records the error for the call path and
returns a non-zero status; the entry point passes that status on and Python raises.
"""

from __future__ import annotations

from typing import Any

from triptych.ir import bindings
from triptych.ir.errors import LoweringError
from triptych.ir.location import place_of
from triptych.ir.modules import function, graft, operations_named, symbols, text_constant
from triptych.ir.signature import signature_of
from triptych.support.runtime_errors import CHECK_ERRORS, AssertionFailedError
from triptych.targets.cpu.ffi_layout import FAIL, FAIL_DECLARATION

ERROR_ATTRIBUTE = "triptych.error"
SUCCESS, FAILURE = 0, -1
_LIKELY = [2000, 1]


def lower_assert(module: Any) -> None:
    """Rewrite the public function; a check elsewhere has no way to report, so it is refused."""
    public = signature_of(module).name
    _refuse_elsewhere(module, public)
    rewriting = _StatusFunction(function(module, public))
    rewriting.rewrite()
    if rewriting.texts:
        constants = (text_constant(name, text) for text, name in rewriting.texts.items())
        graft(module, FAIL_DECLARATION + "".join(constants))


class _StatusFunction:
    """A function on its way to returning a status. `texts` are the constants that its checks refer to, by content."""

    def __init__(self, operation: Any) -> None:
        ir = bindings.mlir()
        self._operation = operation
        self._region = operation.regions[0]
        self._types = ir.FunctionType(operation.attributes["function_type"].value)
        self._status = ir.IntegerType.get_signless(32)
        self._pointer = ir.Type.parse("!llvm.ptr")
        self._failing: Any = None
        self.texts: dict[str, str] = {}

    def rewrite(self) -> None:
        ir = bindings.mlir()
        for block in list(self._region.blocks):
            self._prepend_status(block)
        for block in list(self._region.blocks):
            self._split_at_checks(block)
        self._operation.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(self._types.inputs, [self._status, *self._types.results])
        )

    def _prepend_status(self, block: Any) -> None:
        ir = bindings.mlir()
        end = block.operations[len(block.operations) - 1].operation
        if end.name == "func.return":
            with ir.InsertionPoint(end), end.location:
                ir.Operation.create("func.return", operands=[self._constant(SUCCESS), *end.operands])
            end.erase()

    def _split_at_checks(self, block: Any) -> None:
        """Every operation after the first check moves once, into the block that follows the last check before it."""
        current = block
        for operation in [operation.operation for operation in block.operations]:
            if current is not block:
                operation.detach_from_parent()
                current.append(operation)
            if operation.name == "cf.assert":
                current = current.create_after()
                self._branch_on(operation, current)

    def _branch_on(self, check: Any, following: Any) -> None:
        ir = bindings.mlir()
        with ir.InsertionPoint(check), check.location:
            facts = [self._address(_error_name(check)), self._address(_message(check))]
            ir.Operation.create(
                "cf.cond_br",
                operands=[check.operands[0], *facts],
                successors=[following, self._failing_block()],
                attributes={
                    "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 2]),
                    "branch_weights": ir.DenseI32ArrayAttr.get(_LIKELY),
                },
            )
        check.erase()

    def _failing_block(self) -> Any:
        """The block that all failing checks share: it takes the kind of error and its text."""
        ir = bindings.mlir()
        if self._failing is not None:
            return self._failing
        place = self._operation.location
        self._failing = self._region.blocks.append(self._pointer, self._pointer, arg_locs=[place, place])
        with ir.InsertionPoint(self._failing), place:
            ir.Operation.create(
                "llvm.call",
                operands=list(self._failing.arguments),
                attributes={
                    "callee": ir.FlatSymbolRefAttr.get(FAIL),
                    "operandSegmentSizes": ir.DenseI32ArrayAttr.get([2, 0]),
                    "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
                },
            )
            nothing = [ir.Operation.create("llvm.mlir.poison", results=[kind]).result for kind in self._types.results]
            ir.Operation.create("func.return", operands=[self._constant(FAILURE), *nothing])
        return self._failing

    def _address(self, text: str) -> Any:
        ir = bindings.mlir()
        name = self.texts.setdefault(text, f"triptych.check{len(self.texts)}")
        return ir.Operation.create(
            "llvm.mlir.addressof",
            results=[self._pointer],
            attributes={"global_name": ir.FlatSymbolRefAttr.get(name)},
        ).result

    def _constant(self, value: int) -> Any:
        ir = bindings.mlir()
        return ir.Operation.create(
            "llvm.mlir.constant", results=[self._status], attributes={"value": ir.IntegerAttr.get(self._status, value)}
        ).result


def _error_name(check: Any) -> str:
    if ERROR_ATTRIBUTE not in check.attributes:
        return AssertionFailedError.__name__
    name = str(check.attributes[ERROR_ATTRIBUTE].value)
    if name not in CHECK_ERRORS:
        raise LoweringError(
            f"a check names an unknown error class {name!r}",
            span=place_of(check),
            expected=f"one of {', '.join(CHECK_ERRORS)}",
        )
    return name


def _message(check: Any) -> str:
    return str(check.attributes["msg"].value)


def _refuse_elsewhere(module: Any, public: str) -> None:
    for name, operation in symbols(module).items():
        for check in operations_named(operation, "cf.assert") if name != public else ():
            raise LoweringError("a run-time check in a function that is not the public one", span=place_of(check))
