"""Module operations: copying one before passes change it, finding symbols in it, appending ready-made text."""

from __future__ import annotations

import io
import re
import zlib

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.context import context
from triptych.ir.dialect import load_all
from triptych.ir.errors import LoweringError
from triptych.ir.handles import HasOperation, Module, Operation

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
            parsed: Module = bindings.mlir().Module.parse(zlib.decompress(self._bytes))
            return parsed

    def store(self) -> SerializedModule:
        """Let the module go. What others still hold of it stays theirs."""
        if self._module is not None:
            self._bytes = _written(self._module)
            self._module = None
        return self

    def is_like(self, other: SerializedModule) -> bool:
        """Whether both are one program at the same places of the source."""
        return self._written() == other._written()

    def _written(self) -> bytes:
        return self._bytes if self._module is None else _written(self._module)

    def __str__(self) -> str:
        return str(self.read())


def _written(module: Module) -> bytes:
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return zlib.compress(buffer.getvalue(), 1)


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


def kernels(module: Module) -> list[Operation]:
    """Every `gpu.func` of the module: they stand in its `gpu.module`s, and nobody has to look inside them."""
    return [
        function.operation
        for outer in module.body.operations
        if outer.operation.name == "gpu.module"
        for function in outer.operation.regions[0].blocks[0].operations
        if function.operation.name == "gpu.func"
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
