"""Pass `lower-assert`: run-time checks become branches, and the public function returns a status before its results.

Runs on a flat control-flow graph. A failing check jumps to one block that leaves the function. In the public function
it records the error for the call path and returns a non-zero status, which the entry point passes on; in a function
that runs a kernel's blocks it tells the launch, which stops, and whose status the public function checks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from triptych.diagnostics.check_errors import CHECK_ERRORS
from triptych.diagnostics.runtime_errors import AssertionFailedError
from triptych.ir import bindings
from triptych.ir.builder import ERROR_ATTRIBUTE, FACTS_ATTRIBUTE, Builder
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Block, Module, Operation, Value
from triptych.ir.location import place_of
from triptych.ir.modules import append_ir, operations_named, signature_of, symbols, text_constant
from triptych.targets.cpu.abi.abi import FAIL, FORMATS, KERNEL_FAULT, KERNEL_FAULT_DECLARATION, STOPPING
from triptych.targets.cpu.abi.kernel_functions import FAULT_ATTRIBUTE, KERNEL_ATTRIBUTE, launch_of
from triptych.targets.cpu.calling.calling_python import FAILURE, RAISE, RAISE_TEXT, raising_function

SUCCESS = 0
_LIKELY = "array<i32: 2000, 1>"


def lower_assert(module: Module) -> None:
    """Rewrite the public function and those of kernels; a check elsewhere has no way to report, so it is refused."""
    public = signature_of(module).name
    texts: dict[str, str] = {}
    for name, operation in symbols(module).items():
        if name == public:
            _PublicFunction(operation, texts).rewrite()
        elif KERNEL_ATTRIBUTE in operation.attributes:
            _KernelFunction(operation, texts).rewrite()
        else:
            _refuse_checks(operation)
    if texts:
        constants = (text_constant(name, text) for text, name in texts.items())
        declarations = RAISE_TEXT + raising_function(FAIL, FORMATS[FAIL]) + KERNEL_FAULT_DECLARATION
        append_ir(module, declarations + "".join(constants))


class _CheckedFunction(ABC):
    """A function whose checks become branches. `texts` are the constants that checks refer to, by content."""

    def __init__(self, operation: Operation, texts: dict[str, str]) -> None:
        ir = bindings.mlir()
        self._operation = operation
        self._code = Builder(operation.context, operation.location)
        self._region = operation.regions[0]
        self._types = ir.FunctionType(operation.attributes["function_type"].value)
        self._texts = texts
        self._failing: Block | None = None
        self._stopping: Block | None = None

    def rewrite(self) -> None:
        for block in list(self._region.blocks):
            self._split_at_checks(block)

    @abstractmethod
    def _leave(self, error: Value, text: Value) -> None:
        """Build the end of the failing block: report the kind of error and its text, and return."""

    @abstractmethod
    def _return_failure(self) -> None:
        """Build the return of a function that does not reach its end."""

    def _split_at_checks(self, block: Block) -> None:
        """Every operation after the first check moves once, into the block that follows the last check before it."""
        current = block
        for operation in [operation.operation for operation in block.operations]:
            if current is not block:
                operation.detach_from_parent()
                current.append(operation)
            if operation.name == "cf.assert":
                current = current.create_after()
                self._branch_on(operation, current)

    def _branch_on(self, check: Operation, following: Block) -> None:
        is_stop = _error_name(check) == STOPPING
        failing = self._stopping_block() if is_stop else self._failing_block()
        code = self._code
        code.insertion, code.location = code.before(check), check.location
        facts = [] if is_stop else [self._address(_error_name(check)), self._address(_message(check))]
        attributes = {
            "operandSegmentSizes": code.attribute(f"array<i32: 1, 0, {len(facts)}>"),
            "branch_weights": code.attribute(_LIKELY),
        }
        code.operation(
            "cf.cond_br", (check.operands[0], *facts), attributes=attributes, successors=[following, failing]
        )
        check.erase()

    def _failing_block(self) -> Block:
        """The block that all failing checks share: it takes the kind of error and its text."""
        if self._failing is None:
            self._code.location = self._operation.location
            self._failing = self._code.append_block(self._operation, 0, ["!llvm.ptr", "!llvm.ptr"])
            self._code.enter(self._failing)
            self._leave(*self._failing.arguments)
        return self._failing

    def _stopping_block(self) -> Block:
        """The block of checks that fail because something else has: the cause is kept already."""
        if self._stopping is None:
            self._code.location = self._operation.location
            self._stopping = self._code.append_block(self._operation, 0)
            self._code.enter(self._stopping)
            self._return_failure()
        return self._stopping

    def _address(self, text: str) -> Value:
        return self._symbol(self._texts.setdefault(text, f"triptych.check{len(self._texts)}"))

    def _symbol(self, name: str) -> Value:
        symbol = {"global_name": self._code.attribute(f'@"{name}"')}
        return self._code.value("llvm.mlir.addressof", (), "!llvm.ptr", symbol)


class _PublicFunction(_CheckedFunction):
    """The function that Python calls. It gets a status as its first result."""

    def rewrite(self) -> None:
        ir = bindings.mlir()
        for block in list(self._region.blocks):
            self._prepend_status(block)
        super().rewrite()
        self._operation.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(self._types.inputs, [self._code.type("i32"), *self._types.results])
        )

    def _prepend_status(self, block: Block) -> None:
        end = block.operations[len(block.operations) - 1].operation
        if end.name == "func.return":
            self._code.insertion, self._code.location = self._code.before(end), end.location
            self._code.operation("func.return", (self._constant(SUCCESS), *end.operands))
            end.erase()

    def _leave(self, error: Value, text: Value) -> None:
        arguments = [self._code.value("llvm.ptrtoint", (pointer,), "i64") for pointer in (error, text)]
        self._code.call(RAISE, [self._symbol(FAIL), self._symbol(f"{FAIL}.format"), *arguments, self._no_argument()])
        self._return_failure()

    def _no_argument(self) -> Value:
        return self._constant(0, "i64")

    def _return_failure(self) -> None:
        nothing = [self._code.value("llvm.mlir.poison", (), kind) for kind in self._types.results]
        self._code.operation("func.return", (self._constant(FAILURE), *nothing))

    def _constant(self, value: int, kind: str = "i32") -> Value:
        return self._code.value("llvm.mlir.constant", (), kind, {"value": self._code.integer(kind, value)})


class _KernelFunction(_CheckedFunction):
    """A function that runs a kernel's blocks. It just returns: the launch knows that it has been stopped."""

    def rewrite(self) -> None:
        self._where = self._take_where()
        super().rewrite()
        del self._operation.attributes[KERNEL_ATTRIBUTE]

    def _leave(self, error: Value, text: Value) -> None:
        launch = launch_of(self._operation)
        assert launch is not None, "a function of a kernel has its launch"
        self._code.call(KERNEL_FAULT, [launch, error, text, self._where or self._nowhere()])
        self._return_failure()

    def _return_failure(self) -> None:
        self._code.operation("func.return")

    def _take_where(self) -> Value | None:
        """The place that the kernel keeps, if any of its checks has one."""
        for operation in operations_named(self._operation, "llvm.alloca"):
            if FAULT_ATTRIBUTE in operation.attributes:
                del operation.attributes[FAULT_ATTRIBUTE]
                return operation.result
        return None

    def _nowhere(self) -> Value:
        return self._code.value("llvm.mlir.zero", (), "!llvm.ptr")


def _error_name(check: Operation) -> str:
    if ERROR_ATTRIBUTE not in check.attributes:
        return AssertionFailedError.__name__
    name = str(check.attributes[ERROR_ATTRIBUTE].value)
    if name not in CHECK_ERRORS and name != STOPPING:
        raise LoweringError(
            f"a check names an unknown error class {name!r}",
            span=place_of(check),
            expected=f"one of {', '.join(CHECK_ERRORS)}",
        )
    return name


def _message(check: Operation) -> str:
    """What the exception is made of: the facts, or just a title."""
    name = FACTS_ATTRIBUTE if FACTS_ATTRIBUTE in check.attributes else "msg"
    return str(check.attributes[name].value)


def _refuse_checks(operation: Operation) -> None:
    for check in operations_named(operation, "cf.assert"):
        raise LoweringError("a run-time check in a function that is not the public one", span=place_of(check))
