"""Pass `order-atomics`: atomic updates keep the order and the scope that the program asks for.

LLVM writes every update that PTX has an instruction for as plain `atom`, which is relaxed and of the whole device,
whatever the operation says. Other updates become inline PTX here. What LLVM makes a loop of compare-and-swap keeps both
by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import CLUSTER_SPACE, GENERIC_SPACE, GLOBAL_SPACE, SHARED_SPACE, memory_space, type_text
from triptych.targets.nvptx.description.architectures import Architecture

_ORDERINGS = {2: "relaxed", 4: "acquire", 5: "release", 6: "acq_rel"}
"""By LLVM's numbers."""
_SCOPES = {"block": "cta", "cluster": "cluster", "device": "gpu", "": "sys"}
_PLAIN = "relaxed", "gpu"
_SPACES: dict[int | None, str] = {GLOBAL_SPACE: ".global", SHARED_SPACE: ".shared", GENERIC_SPACE: ""}
_SPACES |= {CLUSTER_SPACE: ".shared::cluster"}
_REGISTERS = {"i32": "r", "i64": "l", "f32": "f", "f64": "d", "f16": "h", "bf16": "h"}
_SHORT = frozenset({"f16", "bf16"})
_BFLOAT16_SINCE = 90
_FLOAT_ADD = "add", "f"
UPDATES = frozenset({"llvm.atomicrmw"})
_UPDATES = {0: ("exch", "b"), 1: ("add", "u"), 3: ("and", "b"), 5: ("or", "b"), 6: ("xor", "b")}
_UPDATES |= {7: ("max", "s"), 8: ("min", "s"), 9: ("max", "u"), 10: ("min", "u"), 11: _FLOAT_ADD}
"""PTX's names by LLVM's numbers, each with the kind of its type."""


def ordering(architecture: Architecture) -> Callable[[Module], None]:
    """The pass for one architecture: updates of BFloat16 are instructions since sm_90."""
    elements = _REGISTERS.keys() - (set() if architecture.generation >= _BFLOAT16_SINCE else {"bf16"})

    def rule(op: Replacement) -> list[Value] | None:
        instruction = _instruction(op.operation) if type_text(op.operation.results[0].type) in elements else ""
        return [_inline(op, instruction)] if instruction else None

    def order_atomics(module: Module) -> None:
        for kernel in kernels(module):
            replace_each(operations_named(kernel, *UPDATES), rule)

    return order_atomics


def _instruction(operation: Operation) -> str:
    """The update in PTX; nothing where LLVM does it right."""
    attributes = operation.attributes
    scope = attributes["syncscope"].value if "syncscope" in attributes else ""
    order = _ORDERINGS[attributes["ordering"].value], _SCOPES[scope]
    update = _UPDATES.get(attributes["bin_op"].value)
    element = type_text(operation.results[0].type)
    if order == _PLAIN or update is None or (element in _SHORT and update != _FLOAT_ADD):
        return ""
    name, kind = update
    space = _SPACES[memory_space(operation.operands[0].type)]
    type_ = f"noftz.{element}" if element in _SHORT else f"{kind}{element[1:]}"
    return f"atom.{'.'.join(order)}{space}.{name}.{type_}"


def _inline(op: Replacement, instruction: str) -> Value:
    kind = op.operation.results[0].type
    letter = _REGISTERS[type_text(kind)]
    attributes = {
        "asm_string": op.builder.string(f"{instruction} $0, [$1], $2;"),
        "constraints": op.builder.string(f"={letter},l,{letter},~{{memory}}"),
        "has_side_effects": op.attribute("unit"),
    }
    return op.value("llvm.inline_asm", op.operands, kind, attributes)
