"""Lines of LLVM IR with names that are counted: what the functions of an exported program are written with."""

from __future__ import annotations

from collections.abc import Mapping


class LlvmLines:
    """The body of one function."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._rooms: list[str] = []
        self._count = 0

    @property
    def text(self) -> str:
        return "\n".join([*self._rooms, *self._lines])

    def function(self, head: str) -> str:
        """The whole function; its head has linkage, type, name and parameters."""
        return "\n".join(["", f"define {head} {{", "entry:", self.text, "}", ""])

    def set(self, operation: str) -> str:
        """The name of a new value."""
        self._count += 1
        name = f"%v{self._count}"
        self.add(f"{name} = {operation}")
        return name

    def room(self, size: int) -> str:
        """Memory of the function for as many bytes."""
        self._count += 1
        self._rooms.append(f"  %v{self._count} = alloca [{size} x i8], align 8")
        return f"%v{self._count}"

    def add(self, line: str) -> None:
        self._lines.append(f"  {line}")

    def label(self, kind: str) -> str:
        """A new name of a block, to be begun later."""
        self._count += 1
        return f"{kind}{self._count}"

    def begin(self, label: str) -> None:
        self._lines.append(f"{label}:")

    def go_on_if(self, condition: str, otherwise: str) -> None:
        """A branch to a block that begins here."""
        following = self.label("next")
        self.add(f"br i1 {condition}, label %{following}, label %{otherwise}")
        self.begin(following)

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        self.add(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def leave(self, value: str = "void") -> None:
        """Return a typed value, or nothing."""
        self.add(f"ret {value}")

    def jump(self, label: str) -> None:
        self.add(f"br label %{label}")

    def element(self, base: str, number: str, kind: str = "i64") -> str:
        """The address of an element of an array."""
        return self.set(f"getelementptr {kind}, ptr {base}, i64 {number}")

    def field(self, base: str, offset: int, kind: str) -> str:
        """What is at an offset in bytes."""
        return self.set(f"load {kind}, ptr {self.place(base, offset)}")

    def place(self, base: str, offset: int) -> str:
        return self.set(f"getelementptr i8, ptr {base}, i64 {offset}")

    def put(self, value: str, base: str, offset: int) -> None:
        """Store a typed value at an offset in bytes."""
        self.add(f"store {value}, ptr {self.place(base, offset)}")


def declarations(functions: Mapping[str, str]) -> str:
    """Of functions by name; a type is written as `i32(ptr, i64)`."""
    parts = ((name, *kind.rstrip(")").split("(", 1)) for name, kind in functions.items())
    return "".join(f"declare {result} @{name}({parameters})\n" for name, result, parameters in parts)
