"""LLVM IR written by Python expressions: what the checkers do at every access is native, and is read as Python here.

Input: calls of a `Function`'s methods and operators of its `Number`s. Output: text of LLVM IR. Variables are memory
that LLVM turns into registers, so that nothing here needs to know of control flow more than its blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from triptych.support.dataclass import dataclass

Operand: TypeAlias = "Number | int"


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A value of a function: its name and its type."""

    function: Function
    name: str
    kind: str

    def __add__(self, other: Operand) -> Number:
        return self.function.binary("add", self, other)

    def __sub__(self, other: Operand) -> Number:
        return self.function.binary("sub", self, other)

    def __mul__(self, other: Operand) -> Number:
        return self.function.binary("mul", self, other)

    def __and__(self, other: Operand) -> Number:
        return self.function.binary("and", self, other)

    def __or__(self, other: Operand) -> Number:
        return self.function.binary("or", self, other)

    def __xor__(self, other: Operand) -> Number:
        return self.function.binary("xor", self, other)

    def __lshift__(self, other: Operand) -> Number:
        return self.function.binary("shl", self, other)

    def __rshift__(self, other: Operand) -> Number:
        """Unsigned, as all numbers here."""
        return self.function.binary("lshr", self, other)

    def __lt__(self, other: Operand) -> Number:
        return self.function.compared("ult", self, other)

    def __ge__(self, other: Operand) -> Number:
        return self.function.compared("uge", self, other)

    def equals(self, other: Operand) -> Number:
        return self.function.compared("eq", self, other)

    def differs(self, other: Operand) -> Number:
        return self.function.compared("ne", self, other)

    def to(self, kind: str) -> Number:
        """The same unsigned number in another type."""
        return self.function.resized(self, kind)


class Variable:
    """A number that changes."""

    def __init__(self, function: Function, place: Number, kind: str) -> None:
        self._function, self.place, self._kind = function, place, kind

    @property
    def now(self) -> Number:
        return self._function.load(self._kind, self.place)

    def set(self, value: Operand) -> None:
        self._function.store(self._function.number(value, self._kind), self.place)


class Function:
    """A function while it is written; `text()` is all of it."""

    def __init__(self, name: str, result: str, parameters: Sequence[tuple[str, str]], attributes: str = "") -> None:
        self._head = (
            f"define {result} @{name}({', '.join(f'{kind} %{given}' for given, kind in parameters)}) {attributes}"
        )
        self.parameters = [Number(self, f"%{given}", kind) for given, kind in parameters]
        self._variables: list[str] = []
        self._lines: list[str] = []
        self._names = 0

    def text(self) -> str:
        """The whole definition."""
        body = "\n".join(f"  {line}" if not line.endswith(":") else line for line in self._lines)
        variables = "".join(f"  {line}\n" for line in self._variables)
        return f"{self._head} {{\nvariables:\n{variables}  br label %begin\nbegin:\n{body}\n}}\n"

    def _name(self, what: str = "v") -> str:
        self._names += 1
        return f"{what}{self._names}"

    def line(self, text: str) -> None:
        self._lines.append(text)

    def made(self, text: str, kind: str) -> Number:
        """The result of an instruction."""
        name = f"%{self._name()}"
        self.line(f"{name} = {text}")
        return Number(self, name, kind)

    def number(self, value: Operand, kind: str) -> Number:
        return value if isinstance(value, Number) else Number(self, str(value), kind)

    # numbers ----------------------------------------------------------------------------------------------------
    def binary(self, name: str, left: Number, right: Operand) -> Number:
        other = self.number(right, left.kind)
        assert other.kind == left.kind, (name, left, other)
        return self.made(f"{name} {left.kind} {left.name}, {other.name}", left.kind)

    def compared(self, predicate: str, left: Number, right: Operand) -> Number:
        other = self.number(right, left.kind)
        assert other.kind == left.kind, (predicate, left, other)
        return self.made(f"icmp {predicate} {left.kind} {left.name}, {other.name}", "i1")

    def resized(self, value: Number, kind: str) -> Number:
        if value.kind == kind:
            return value
        if value.kind == "ptr" or kind == "ptr":
            return self.made(f"{'ptrtoint' if kind != 'ptr' else 'inttoptr'} {value.kind} {value.name} to {kind}", kind)
        grows = int(value.kind[1:]) < int(kind[1:])
        return self.made(f"{'zext' if grows else 'trunc'} {value.kind} {value.name} to {kind}", kind)

    def select(self, condition: Number, chosen: Operand, other: Operand, kind: str) -> Number:
        left, right = self.number(chosen, kind), self.number(other, kind)
        return self.made(f"select i1 {condition.name}, {kind} {left.name}, {kind} {right.name}", kind)

    def larger(self, left: Number, right: Number) -> Number:
        return self.select(left < right, right, left, left.kind)

    # memory -----------------------------------------------------------------------------------------------------
    def at(self, pointer: Number, index: Operand, kind: str) -> Number:
        """The address of an element."""
        place = self.number(index, "i64").to("i64")
        return self.made(f"getelementptr {kind}, ptr {pointer.name}, i64 {place.name}", "ptr")

    def load(self, kind: str, pointer: Number) -> Number:
        return self.made(f"load {kind}, ptr {pointer.name}", kind)

    def store(self, value: Number, pointer: Number) -> None:
        self.line(f"store {value.kind} {value.name}, ptr {pointer.name}")

    def variable(self, kind: str, value: Operand) -> Variable:
        name = self._name("variable")
        self._variables.append(f"%{name} = alloca {kind}, align 8")
        made = Variable(self, Number(self, f"%{name}", "ptr"), kind)
        made.set(value)
        return made

    # control flow -----------------------------------------------------------------------------------------------
    def call(self, name: str, kind: str, given: Sequence[Number]) -> Number:
        arguments = ", ".join(f"{value.kind} {value.name}" for value in given)
        if kind == "void":
            self.line(f"call void @{name}({arguments})")
            return Number(self, "", "void")
        return self.made(f"call {kind} @{name}({arguments})", kind)

    def give(self, value: Operand | None = None, kind: str = "") -> None:
        """Return; what follows is never reached, but must be written somewhere."""
        self.line("ret void" if value is None else f"ret {kind} {self.number(value, kind).name}")
        self.line(f"{self._name('after')}:")

    @contextmanager
    def when(self, condition: Number) -> Iterator[None]:
        """What is written inside happens if the condition holds."""
        inside, behind = self._name("then"), self._name("end")
        self.line(f"br i1 {condition.name}, label %{inside}, label %{behind}")
        self.line(f"{inside}:")
        yield
        self.line(f"br label %{behind}")
        self.line(f"{behind}:")

    @contextmanager
    def during(self, condition: Callable[[], Number]) -> Iterator[None]:
        """What is written inside happens again and again while the condition holds."""
        head, inside, behind = self._name("while"), self._name("do"), self._name("done")
        self.line(f"br label %{head}")
        self.line(f"{head}:")
        holds = condition()
        self.line(f"br i1 {holds.name}, label %{inside}, label %{behind}")
        self.line(f"{inside}:")
        yield
        self.line(f"br label %{head}")
        self.line(f"{behind}:")

    @contextmanager
    def count(self, low: Operand, high: Number) -> Iterator[Number]:
        """What is written inside happens for every number from `low` until `high`."""
        counter = self.variable(high.kind, low)
        with self.during(lambda: counter.now < high):
            here = counter.now
            yield here
            counter.set(here + 1)


def named(f: Function, name: str) -> Number:
    """A global variable, a value of this function, or `null`."""
    return Number(f, name, "ptr")


def lock(f: Function, place: Number) -> None:
    """Wait until nobody has it, and take it; whoever waits only looks, so that the other can go on."""
    with (
        f.during(lambda: f.made(f"atomicrmw xchg ptr {place.name}, i32 1 acquire", "i32").differs(0)),
        f.during(lambda: f.made(f"load atomic i32, ptr {place.name} monotonic, align 4", "i32").differs(0)),
    ):
        pass


def unlock(f: Function, place: Number) -> None:
    """Leave it."""
    f.line(f"store atomic i32 0, ptr {place.name} release, align 4")
