"""Writing vector code: operations on scalars and on vectors of lanes, by name, with the few idioms they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from triptych.ir.builder import Builder

_PREDICATES = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ult": 6, "ule": 7, "ugt": 8, "uge": 9}


class Code:
    """Creates operations at an insertion point, at the place of the kernel operation that is being converted."""

    def __init__(self, builder: Builder, width: int) -> None:
        self.builder = builder
        self.width = width
        self.location: Any = builder.unknown
        self._attributes: dict[str, Any] = {}

    # types and attributes ---------------------------------------------------------------------------------------
    def wide(self, kind: str) -> str:
        """The type of a value in all lanes."""
        return f"vector<{self.width}x{kind}>"

    def attribute(self, text: str) -> Any:
        found = self._attributes.get(text)
        if found is None:
            found = self._attributes[text] = self.builder.attribute(text)
        return found

    # operations -------------------------------------------------------------------------------------------------
    def value(self, name: str, operands: Sequence[Any], kind: str, attributes: Mapping[str, Any] | None = None) -> Any:
        return self.builder.value(name, operands, self.builder.type(kind), self.location, attributes)

    def operation(
        self,
        name: str,
        operands: Sequence[Any] = (),
        kinds: Sequence[str] = (),
        attributes: Mapping[str, Any] | None = None,
        regions: int = 0,
    ) -> Any:
        results = [self.builder.type(kind) for kind in kinds]
        return self.builder.operation(name, operands, results, self.location, attributes, regions)

    def constant(self, value: int, kind: str) -> Any:
        if kind == "index":
            return self.value("arith.constant", (), kind, {"value": self.attribute(f"{value} : index")})
        return self.value("arith.constant", (), kind, {"value": self.builder.integer(kind, value)})

    def constants(self, values: Sequence[int], kind: str) -> Any:
        """One integer constant for each lane, as the type holds it."""
        bits = 64 if kind == "index" else int(kind[1:])
        half, whole = 1 << bits - 1, 1 << bits
        wrapped = ((value + half) % whole - half for value in values)
        return self.dense(", ".join(map(str, wrapped)), f"vector<{len(values)}x{kind}>")

    def dense(self, text: str, kind: str) -> Any:
        return self.value("arith.constant", (), kind, {"value": self.attribute(f"dense<[{text}]> : {kind}")})

    def zero(self, kind: str) -> Any:
        """Zero of any scalar or vector type."""
        element = kind[7:-1].rpartition("x")[2] if kind.startswith("vector<") else kind
        if "ptr" in kind:
            return self.value("llvm.mlir.zero", (), kind)
        text = "0.0" if element[0] in "fb" else "false" if element == "i1" else "0"
        written = f"dense<{text}> : {kind}" if kind.startswith("vector<") else f"{text} : {kind}"
        return self.value("arith.constant", (), kind, {"value": self.attribute(written)})

    def broadcast(self, value: Any, kind: str) -> Any:
        """A scalar in all lanes; `kind` is the scalar's type."""
        return self.value("vector.broadcast", (value,), self.wide(kind))

    def select(self, condition: Any, chosen: Any, other: Any, kind: str) -> Any:
        return self.value("arith.select", (condition, chosen, other), kind)

    def compare(self, predicate: str, left: Any, right: Any, lanes: bool = False) -> Any:
        number = self.builder.integer("i64", _PREDICATES[predicate])
        return self.value("arith.cmpi", (left, right), self.wide("i1") if lanes else "i1", {"predicate": number})

    def shuffle(self, left: Any, right: Any, places: Sequence[int], element: str) -> Any:
        mask = self.attribute(f"array<i64: {', '.join(map(str, places))}>")
        return self.value("vector.shuffle", (left, right), f"vector<{len(places)}x{element}>", {"mask": mask})

    def extract(self, vector: Any, lane: int, element: str) -> Any:
        return self.value(
            "vector.extract", (vector,), element, {"static_position": self.attribute(f"array<i64: {lane}>")}
        )

    def extract_at(self, vector: Any, lane: Any, element: str) -> Any:
        """The element of a lane known at run time (`index`)."""
        place = {"static_position": self.attribute("array<i64: -9223372036854775808>")}
        return self.value("vector.extract", (vector, lane), element, place)

    def reduce(self, kind: str, vector: Any, element: str) -> Any:
        return self.value("vector.reduction", (vector,), element, {"kind": self.attribute(f"#vector.kind<{kind}>")})

    def any(self, mask: Any) -> Any:
        """Whether a lane of the mask is set."""
        return self.reduce("or", mask, "i1")

    def bits(self, mask: Any) -> Any:
        """The mask as an integer, lane 0 in the lowest bit."""
        kind = f"i{self.width}"
        return self.extract(self.value("vector.bitcast", (mask,), f"vector<1x{kind}>"), 0, kind)

    def both(self, left: Any, right: Any, kind: str | None = None) -> Any:
        return self.value("arith.andi", (left, right), kind or self.wide("i1"))

    def invert(self, mask: Any) -> Any:
        ones = self.dense(", ".join(["true"] * self.width), self.wide("i1"))
        return self.value("arith.xori", (mask, ones), self.wide("i1"))

    # memory -----------------------------------------------------------------------------------------------------
    def offset(self, pointer: Any, index: Any, element: str) -> Any:
        """The address of an element; `index` is an int, an integer value or a vector of them."""
        dynamic = not isinstance(index, int)
        raw = "-2147483648" if dynamic else str(index)
        wide = dynamic and str(index.type).startswith("vector<")
        return self.value(
            "llvm.getelementptr",
            (pointer, index) if dynamic else (pointer,),
            self.wide("!llvm.ptr") if wide else "!llvm.ptr",
            {
                "rawConstantIndices": self.attribute(f"array<i32: {raw}>"),
                "elem_type": self.attribute(element),
            },
        )

    def load(self, pointer: Any, kind: str, alignment: int) -> Any:
        return self.value("llvm.load", (pointer,), kind, {"alignment": self.builder.integer("i64", alignment)})

    def store(self, value: Any, pointer: Any, alignment: int) -> None:
        self.operation("llvm.store", (value, pointer), attributes={"alignment": self.builder.integer("i64", alignment)})

    # regions ----------------------------------------------------------------------------------------------------
    def block(self, operation: Any, region: int, kinds: Sequence[str] = ()) -> Any:
        """A new block of a region."""
        return self.builder.append_block(operation, region, [self.builder.type(k) for k in kinds], self.location)

    def enter(self, block: Any) -> Any:
        """Write into `block` from now on; gives what to hand to `leave`."""
        before = self.builder.insertion
        self.builder.insertion = self.builder.at_end(block)
        return before

    def leave(self, before: Any) -> None:
        self.builder.insertion = before
