"""Pass `poll-loops`: a host function that runs for long lets Python handle signals now and then, such as Ctrl-C.

Kernels have polls of their own. Here loops are cut into strips with a poll between them, so that the inner loop
keeps its form. A poll looks at the clock, and every 50 ms at Python, for which it takes the interpreter lock. When a
signal handler raises, the function returns as after a failed check.
"""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import append_ir, callee, function, operations_named, signature_of
from triptych.kernel_ir.dialects.kernel_operations import body, constant_of, inner, is_pure, operations, walk
from triptych.targets.cpu.abi.abi import LAUNCH
from triptych.targets.cpu.abi.kernel_functions import check_status
from triptych.targets.cpu.abi.system import CLOCK, is_supported, system
from triptych.targets.cpu.calling.calling_python import LOCKING_TEXT
from triptych.targets.cpu.emit.strip_mining import STRIP_LENGTH, Strips, cut_while

LOOPS = frozenset({"scf.for", "scf.while"})
POLL = "triptych.poll_host"
_PERIOD = 50_000_000
"""Nanoseconds between two looks at Python."""
_BUDGET = 1 << 20
"""Operations between two polls: about a millisecond."""
_CALL = 16
"""Operations that a call of the C library counts for. A launch takes the whole budget: it may run for long."""
_REPEATABLE = frozenset({"llvm.load", "cf.assert", "scf.if", "scf.yield", "scf.condition"})

_CLOCK_NUMBER = "clock_number"
_POLL_TEXT = f"""
{LOCKING_TEXT}
func.func private @{CLOCK}(i32, !llvm.ptr) -> i32
llvm.func @PyErr_CheckSignals() -> i32
llvm.func internal @{POLL}(%due: !llvm.ptr) -> i32 attributes {{passthrough = ["noinline", "optnone", "cold"]}} {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %none = llvm.mlir.constant(0 : i64) : i64
  %fine = llvm.mlir.constant(0 : i32) : i32
  %second = llvm.mlir.constant(1000000000 : i64) : i64
  %period = llvm.mlir.constant({_PERIOD} : i64) : i64
  %clock = llvm.mlir.constant({_CLOCK_NUMBER} : i32) : i32
  %time = llvm.alloca %one x !llvm.array<2 x i64> : (i64) -> !llvm.ptr
  %read = func.call @{CLOCK}(%clock, %time) : (i32, !llvm.ptr) -> i32
  %seconds = llvm.load %time : !llvm.ptr -> i64
  %fraction_place = llvm.getelementptr %time[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %fraction = llvm.load %fraction_place : !llvm.ptr -> i64
  %whole = llvm.mul %seconds, %second : i64
  %now = llvm.add %whole, %fraction : i64
  %look = llvm.load %due : !llvm.ptr -> i64
  %early = llvm.icmp "slt" %now, %look : i64
  llvm.cond_br %early, ^leave, ^due
^due:
  %later = llvm.add %now, %period : i64
  llvm.store %later, %due : i64, !llvm.ptr
  %new = llvm.icmp "eq" %look, %none : i64
  llvm.cond_br %new, ^leave, ^look
^look:
  %lock = llvm.call @PyGILState_Ensure() : () -> i32
  %raised = llvm.call @PyErr_CheckSignals() : () -> i32
  llvm.call @PyGILState_Release(%lock) : (i32) -> ()
  llvm.return %raised : i32
^leave:
  llvm.return %fine : i32
}}
"""
"""The time of the next look at Python is in memory of the function, 0 before its first poll."""


def poll_loops(module: Module) -> None:
    """Give polls to the loops of the public function that may run for long."""
    with module.context:
        host = function(module, signature_of(module).name)
        loops = [loop for loop in operations_named(host, *LOOPS) if _is_long(loop)]
        if not loops or not is_supported():  # without a clock, Ctrl-C waits for the end of the function
            return
        append_ir(module, _POLL_TEXT.replace(_CLOCK_NUMBER, str(system().monotonic_clock)))
        due = _variable(host)
        lengths = [max(1, min(STRIP_LENGTH, _BUDGET // _work_of(inner(loop)))) for loop in loops]
        for loop, length in zip(loops, lengths, strict=True):
            _Loop(loop, length, host, due).cut()


def _is_long(loop: Operation) -> bool:
    count = _iterations(loop)
    return count is None or count * _work_of(inner(loop)) > _BUDGET


def _iterations(loop: Operation) -> int | None:
    if loop.name != "scf.for":
        return None
    low, high, step = (constant_of(bound) for bound in list(loop.operands)[:3])
    return None if low is None or high is None or not step else max(0, -(-(high - low) // step))


def _work_of(found: list[Operation]) -> int:
    """Operations that run once; a loop that polls by itself counts for one iteration."""
    return 1 + sum(_work(operation) for operation in found)


def _work(operation: Operation) -> int:
    if operation.name in LOOPS:
        count = _iterations(operation)
        work = _work_of(inner(operation))
        return work if count is None or count * work > _BUDGET else count * work
    if operation.name == "llvm.call":
        return _BUDGET if callee(operation) == LAUNCH else _CALL
    return (_CALL if operation.name.startswith("math.") else 1) + sum(_work(child) for child in inner(operation))


def _is_repeatable(operation: Operation) -> bool:
    return operation.name in _REPEATABLE or is_pure(operation)


def _variable(host: Operation) -> Value:
    """A number in the function's memory that is 0 at first."""
    code = Builder(host.context, host.location)
    code.insertion = code.at_start(host.regions[0].blocks[0])
    one = code.constant(1, "i64")
    made = code.value("llvm.alloca", (one,), "!llvm.ptr", {"elem_type": code.type_attribute("i64")})
    code.operation("llvm.store", (code.constant(0, "i64"), made))
    return made


class _Loop:
    """A loop that is to be a loop of strips, each of at most `length` iterations."""

    def __init__(self, loop: Operation, length: int, host: Operation, due: Value) -> None:
        self._loop = loop
        self._length = length
        self._host = host
        self._due = due
        self._code = Builder(loop.context, loop.location)
        self._code.insertion = self._code.before(loop)

    def cut(self) -> None:
        if self._loop.name == "scf.for":
            self._cut_for()
        elif all(_is_repeatable(child) for found in operations(body(self._loop)) for child in (found, *walk(found))):
            cut_while(self._code, self._loop, self._length, self._poll)
        else:
            self._count_iterations()

    def _cut_for(self) -> None:
        code, loop = self._code, self._loop
        low, high, step, *initial = loop.operands
        kinds = [value.type for value in initial]
        strips = Strips(code, low, high, step, self._length)
        zero, one = (code.constant(n, "i64") for n in (0, 1))
        outer = code.operation("scf.for", [zero, strips.count, one, *initial], kinds, regions=1)
        block = code.append_block(outer, 0, ["i64", *kinds])
        number, *carried = block.arguments
        before = code.enter(block)
        attributes = {name: loop.attributes[name] for name in loop.attributes}
        made = code.operation("scf.for", [*strips.bounds(number), step, *carried], kinds, attributes, regions=1)
        following = code.value("arith.addi", (number, one), "i64")
        self._poll_if(code.compare("ne", following, strips.count))  # a short loop inside another costs no poll
        code.operation("scf.yield", list(made.results))
        code.leave(before)
        for old, new in zip(list(loop.results), list(outer.results), strict=True):
            old.replace_all_uses_with(new)
        code.move_blocks(loop, made)

    def _count_iterations(self) -> None:
        """A loop whose test does something: count in a variable, and look when the count is round."""
        code, count = self._code, _variable(self._host)
        code.insertion = code.at_start(body(self._loop, 1))
        passed = code.value("arith.addi", (code.value("llvm.load", (count,), "i64"), code.constant(1, "i64")), "i64")
        code.operation("llvm.store", (passed, count))
        period = 1 << self._length.bit_length() - 1
        rest = code.value("arith.andi", (passed, code.constant(period - 1, "i64")), "i64")
        self._poll_if(code.compare("eq", rest, code.constant(0, "i64")))

    def _poll(self) -> None:
        check_status(self._code, POLL, (self._due,))

    def _poll_if(self, condition: Value) -> None:
        code = self._code
        branch = code.operation("scf.if", (condition,), regions=2)
        before = code.enter(code.append_block(branch, 0))
        self._poll()
        code.operation("scf.yield")
        code.leave(before)
