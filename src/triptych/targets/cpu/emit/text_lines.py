"""MLIR text writer of functions: values get names, loops close what they open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


class Lines:
    """The lines of a function's body so far."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.carried: list[str] = []
        """What the last `carrying` loop has left."""
        self._count = 0

    def add(self, line: str) -> None:
        """One line as it is."""
        self.text.append(line)

    def name(self) -> str:
        """A name that no other value has."""
        self._count += 1
        return f"%v{self._count}_"

    def value(self, operation: str) -> str:
        """The result of an operation."""
        name = self.name()
        self.add(f"{name} = {operation}")
        return name

    def plus(self, value: str, number: int) -> str:
        """An i64 and a constant."""
        if number == 0:
            return value
        return self.value(f"arith.addi {value}, {self.value(f'arith.constant {number} : i64')} : i64")

    def element(self, pointer: str, index: int, kind: str) -> str:
        """The address of an element of an array."""
        return self.value(f"llvm.getelementptr {pointer}[{index}] : (!llvm.ptr) -> !llvm.ptr, {kind}")

    def moved(self, pointer: str, index: str, kind: str) -> str:
        """The address of an element whose number is computed."""
        return self.value(f"llvm.getelementptr {pointer}[{index}] : (!llvm.ptr, i64) -> !llvm.ptr, {kind}")

    def shuffle(self, one: str, two: str, places: Sequence[int], count: int, kind: str) -> str:
        """Elements out of two vectors of `count`."""
        vector = f"vector<{count}x{kind}>"
        return self.value(f"vector.shuffle {one}, {two} [{', '.join(map(str, places))}] : {vector}, {vector}")

    def convert(self, written: Callable[[str, str, str, int], Iterator[str]], value: str, kind: str, lanes: int) -> str:
        """What a function of text makes of a vector."""
        name = self.name()
        self.text += written(name, value, kind, lanes)
        return name

    @contextmanager
    def loop(self, variable: str, low: str, high: str, step: str) -> Iterator[None]:
        """A loop over i64 numbers."""
        self.add(f"scf.for {variable} = {low} to {high} step {step} : i64 {{")
        yield
        self.add("}")

    @contextmanager
    def carrying(
        self, variable: str, low: str, high: str, step: str, values: Sequence[str], kind: str
    ) -> Iterator[list[str]]:
        """A loop that carries values of one type: those in the list at its end go on; `carried` names what is left."""
        inside = [self.name() for _ in values]
        kinds, result = ", ".join([kind] * len(values)), self.name()
        first = ", ".join(f"{name} = {value}" for name, value in zip(inside, values, strict=True))
        self.add(
            f"{result}:{len(values)} = scf.for {variable} = {low} to {high} step {step} "
            f"iter_args({first}) -> ({kinds}) : i64 {{"
        )
        yield inside
        self.add(f"scf.yield {', '.join(inside)} : {kinds}")
        self.add("}")
        self.carried = [f"{result}#{i}" for i in range(len(values))]
