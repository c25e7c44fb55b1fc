"""Module operations: copying one before passes change it, finding symbols in it, appending ready-made text."""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import count
from typing import Any

from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.builder import Builder
from triptych.ir.dialect import load_all
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Attribute, Block, HasOperation, InsertionPoint, Location, Module, Operation, Type
from triptych.ir.types import SHARED_SPACE
from triptych.stages import Leaf, Memory, SymbolicExtent
from triptych.support.dataclass import dataclass

_NOT_PLAIN = re.compile(r"[^ !#-\[\]-~]")
"""Characters that a string of MLIR's text writes as two hexadecimal digits."""


class SerializedModule:
    """A module that outlives its compilation as bytes: a compiled function is looked at rarely, and there are many.

    Writing the bytes takes a tenth of the time of printing the text; they are equal when the modules are.
    """

    __slots__ = ("_bytes", "_module")

    def __init__(self, module: Module) -> None:
        self._module: Module | None = module
        self._bytes = b""

    def read(self) -> Module:
        """The module itself, or a new one like it."""
        if self._module is not None:
            return self._module
        load_all(context())
        with context():
            parsed: Module = bindings.mlir().Module.parse(self.written())
            return parsed

    def store(self) -> SerializedModule:
        """Let the module go. What others still hold of it stays theirs."""
        if self._module is not None:
            self._bytes = zlib.compress(self.written(), 1)
            self._module = None
        return self

    def is_like(self, other: SerializedModule) -> bool:
        """Whether both are one program at the same places of the source."""
        return self.written() == other.written()

    def written(self) -> bytes:
        """The bytes, which are the same in every process that builds the same module."""
        if self._module is None:
            return zlib.decompress(self._bytes)
        buffer = io.BytesIO()
        self._module.operation.write_bytecode(buffer)
        return buffer.getvalue()

    def __str__(self) -> str:
        return str(self.read())


def copy_module(module: Module) -> Module:
    """A module of its own with the same contents, so that what the caller holds stays as it was printed."""
    ir = bindings.mlir()
    with module.context:
        copy: Module = ir.Module.create(loc=module.operation.location)
        for attribute in module.operation.attributes:
            copy.operation.attributes[attribute] = module.operation.attributes[attribute]
        end = Builder(module.context).at_end(copy.body)
        for operation in module.body.operations:
            operation.operation.clone(end)
        return copy


def symbols(module: Module) -> dict[str, Operation]:
    """The top-level operations of a module by symbol name."""
    return {
        operation.attributes["sym_name"].value: operation.operation
        for operation in module.body.operations
        if "sym_name" in operation.attributes
    }


def function(module: Module, name: str) -> Operation:
    """The function of that name."""
    found = symbols(module).get(name)
    if found is None:
        raise LoweringError(f"the module has no function {name!r}", found=f"only {', '.join(symbols(module))}")
    return found


def operations_named(root: HasOperation, *names: str) -> list[Operation]:
    """Every operation of these names inside `root`, collected first: nothing may be changed or raised during a walk."""
    advance = bindings.mlir().WalkResult.ADVANCE
    wanted = frozenset(names)
    found: list[Operation] = []

    def visit(operation: Operation) -> object:
        if operation.name in wanted:
            found.append(operation.operation)
        return advance

    root.operation.walk(visit)
    return found


def kernels(module: Module, kind: str = "gpu.func") -> list[Operation]:
    """Every function of the device, before (`gpu.func`) or after (`llvm.func`) it became one of LLVM.

    They stand in the `gpu.module`s, and nobody has to look inside them: a visit to an operation from Python takes a
    microsecond or two, and kernels have thousands.
    """
    return [
        function.operation
        for outer in module.body.operations
        if outer.operation.name == "gpu.module"
        for function in outer.operation.regions[0].blocks[0].operations
        if function.operation.name == kind
    ]


def functions(module: Module, *names: str) -> list[Operation]:
    """Every function of these kinds, of the host or of a device: nothing inside them is one."""
    found = [operation.operation for operation in module.body.operations]
    devices = [operation for operation in found if operation.name == "gpu.module"]
    inner = [function.operation for device in devices for function in device.regions[0].blocks[0].operations]
    return [operation for operation in (*found, *inner) if operation.name in names]


def operation_names(root: HasOperation) -> frozenset[str]:
    """The name of everything inside `root`."""
    advance = bindings.mlir().WalkResult.ADVANCE
    found: set[str] = set()

    def visit(operation: Operation) -> object:
        found.add(operation.name)
        return advance

    root.operation.walk(visit)
    return frozenset(found)


def callee(call: Operation) -> str:
    """The name of the function that an operation calls."""
    return str(bindings.mlir().FlatSymbolRefAttr(call.attributes["callee"]).value)


def append_ir(module: Module, text: str) -> None:
    """Add operations written as MLIR text. A symbol that the module already has is left as it is there."""
    ir = bindings.mlir()
    with module.context:
        known = symbols(module)
        written = ir.Module.parse(text)
        end = Builder(module.context).at_end(module.body)
        for name, operation in symbols(written).items():
            if name not in known:
                # Copied, not moved: moving out of a module that dies soon after corrupts both.
                operation.clone(end)


def text_constant(name: str, text: str) -> str:
    """MLIR text of a global that holds `text` and a final zero byte, as C functions want it."""
    data = text.encode() + b"\0"
    escaped = _NOT_PLAIN.sub(lambda found: f"\\{ord(found[0]):02X}", data.decode("latin-1"))
    return f'llvm.mlir.global internal constant @"{name}"("{escaped}") : !llvm.array<{len(data)} x i8>\n'


NAME = "kernels"
SHARED = "__smem"
"""The global that stands for a block's shared memory; it has no size of its own, the launch gives it."""
SHARED_ALIGNMENT = 1024


class DeviceModule:
    """The part of a module that runs on the device, made with its first kernel."""

    def __init__(self, builder: Builder, module: Module, location: Location, attributes: Mapping[str, str]) -> None:
        """`attributes`: what it says of the device, as MLIR text."""
        self._builder = builder
        self._names: set[str] = set()
        self._has_shared = False
        module.operation.attributes["gpu.container_module"] = builder.attribute("unit")
        said = {name: builder.attribute(text) for name, text in attributes.items()}
        named = {"sym_name": builder.string(NAME), **said}
        operation = self._at(builder.at_start(module.body), "gpu.module", location, named)
        self._block = builder.append_block(operation, 0, (), location)

    def kernel(
        self, name: str, arguments: Sequence[Type], attributes: Mapping[str, Attribute], location: Location
    ) -> tuple[str, Operation, Block]:
        """A new kernel: its name, made unique, its function and its entry block."""
        builder = self._builder
        unique = next(candidate for candidate in _candidates(name) if candidate not in self._names)
        self._names.add(unique)
        all_attributes = {
            "sym_name": builder.string(unique),
            "function_type": builder.attribute(f"({', '.join(map(str, arguments))}) -> ()"),
            "kernel": builder.attribute("unit"),
            **attributes,
        }
        function = self._at(builder.at_end(self._block), "gpu.func", location, all_attributes)
        return unique, function, builder.append_block(function, 0, arguments, location)

    def declare_shared(self, location: Location) -> None:
        """Let kernels take the address of `SHARED`."""
        if self._has_shared:
            return
        self._has_shared = True
        builder = self._builder
        attributes = {
            "sym_name": builder.string(SHARED),
            "global_type": builder.attribute("!llvm.array<0 x i8>"),
            "linkage": builder.attribute("#llvm.linkage<external>"),
            "addr_space": builder.integer("i32", SHARED_SPACE),
            "alignment": builder.integer("i64", SHARED_ALIGNMENT),
        }
        self._at(builder.at_start(self._block), "llvm.mlir.global", location, attributes)

    def _at(
        self, insertion: InsertionPoint, name: str, location: Location, attributes: Mapping[str, Attribute]
    ) -> Operation:
        previous, self._builder.insertion = self._builder.insertion, insertion
        try:
            return self._builder.operation(name, (), (), attributes, regions=1, location=location)
        finally:
            self._builder.insertion = previous


def _candidates(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(1))


_ATTRIBUTE = "triptych.signature"


@dataclass(frozen=True, slots=True)
class Signature:
    """The public function of a module: its symbol and its scalars."""

    name: str
    parameters: tuple[Leaf, ...]
    results: tuple[Leaf, ...]


def attach_signature(module: Module, signature: Signature) -> None:
    """Put the signature on the module."""
    ir = bindings.mlir()
    with module.context:
        parts = {
            "name": ir.StringAttr.get(signature.name),
            "parameters": _encode(signature.parameters),
            "results": _encode(signature.results),
        }
        module.operation.attributes[_ATTRIBUTE] = ir.DictAttr.get(parts)


def signature_of(module: Module) -> Signature:
    """The signature that the module carries."""
    ir = bindings.mlir()
    parts = ir.DictAttr(module.operation.attributes[_ATTRIBUTE])
    return Signature(ir.StringAttr(parts["name"]).value, _decode(parts["parameters"]), _decode(parts["results"]))


def detach_signature(module: Module) -> None:
    """Take the signature away: LLVM would not know it."""
    del module.operation.attributes[_ATTRIBUTE]


def leaves_text(leaves: Sequence[Leaf]) -> str:
    """Leaves as text, for what can hold nothing else."""
    return json.dumps([asdict(leaf) for leaf in leaves], ensure_ascii=False)


def read_leaves(text: str) -> tuple[Leaf, ...]:
    """The leaves that a text was made of."""
    return tuple(Leaf(fields["path"], fields["dtype"], _read_memory(fields["memory"])) for fields in json.loads(text))


def _read_memory(fields: dict[str, Any] | None) -> Memory | None:
    if fields is None:
        return None
    tuples = {name: tuple(fields[name]) for name in ("shape", "stride", "devices")}
    unknowns = tuple(SymbolicExtent(**unknown) for unknown in fields["unknowns"])
    return Memory(**{**fields, **tuples, "unknowns": unknowns})


def _encode(leaves: tuple[Leaf, ...]) -> Attribute:
    made: Attribute = bindings.mlir().StringAttr.get(leaves_text(leaves))
    return made


def _decode(attribute: Attribute) -> tuple[Leaf, ...]:
    return read_leaves(bindings.mlir().StringAttr(attribute).value)
