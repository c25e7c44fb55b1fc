"""Device module of a program: its `gpu.module`, with one `gpu.func` for each launch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from triptych.ir.builder import Builder
from triptych.ir.handles import Attribute, Block, InsertionPoint, Location, Module, Operation, Type
from triptych.ir.types import SHARED_SPACE

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
