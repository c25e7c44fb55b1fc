"""Pass `fuse-wgmma-k-loop`: WGMMAs, or UMMAs, that follow each other on one accumulator become one over more of k.

Input: `tile.wgmma` and `tile.umma` operations whose operands are known distances apart. Output: one for each run of
them, with the tables of all. A product loads and stores its sums once, and warps of a CPU meet there once, however deep
it is. Descriptors of NVIDIA's instructions are sums of one address and known distances.
"""

from __future__ import annotations

from collections.abc import Iterable

from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation
from triptych.ir.modules import operations_named
from triptych.kernel_ir.analysis.addresses import AddressForms
from triptych.kernel_ir.dialects.kernel_operations import constant_of, is_pure, operations
from triptych.kernel_ir.dialects.mma import WARPGROUP_MMAS
from triptych.kernel_ir.dialects.tile import UMMA, WGMMA
from triptych.kernel_ir.dialects.umma import umma

_DEEPEST = 256 * 64
"""Rows of A times all of k: a CPU packs A on the stack, 4 bytes for each."""
FUSED = frozenset({WGMMA, UMMA})
_WITHOUT_SCALES = 4
"""Operands. Scales are in memory that later products, too, are scaled by."""
_SAME = ("instruction", "d", "a_operand", "b_operand")


def fuse_wgmma_k_loop(module: Module) -> None:
    builder, forms = Builder(module.context), AddressForms()
    for block in dict.fromkeys(product.block for product in operations_named(module, *FUSED)):
        for run in _runs(operations(block), forms):
            _join(run, forms, builder)


def _runs(found: Iterable[Operation], forms: AddressForms) -> list[list[Operation]]:
    """Products with nothing between them but what computes addresses, each of which can follow the first."""
    runs: list[list[Operation]] = []
    going = False
    for operation in found:
        if operation.name in FUSED:
            if going and _follows(runs[-1], operation, forms):
                runs[-1].append(operation)
            else:
                runs.append([operation])
            going = True
        elif not is_pure(operation):
            going = False
    return [run for run in runs if len(run) > 1]


def _follows(run: list[Operation], operation: Operation, forms: AddressForms) -> bool:
    """Whether a product adds to what those of a run have computed, at places that are known from the first of them."""
    first = run[0]
    rows, _, depth = _shape(first)
    slices = sum(list(one.attributes["tiles"])[2] for one in (*run, operation))
    return (
        first.name == operation.name
        and len(operation.operands) == _WITHOUT_SCALES
        and first.operands[0] == operation.operands[0]
        and constant_of(operation.operands[3]) in (1, -1)
        and all(first.attributes[name] == operation.attributes[name] for name in _SAME)
        and list(first.attributes["tiles"])[:2] == list(operation.attributes["tiles"])[:2]
        and all(_distance(first, operation, i, forms) is not None for i in (1, 2))
        and slices * depth * rows <= _DEEPEST
    )


def _shape(product: Operation) -> tuple[int, int, int]:
    name = str(product.attributes["instruction"].value)
    instruction = WARPGROUP_MMAS[name] if product.name == WGMMA else umma(name)
    assert instruction is not None, "checked where it was emitted"
    return instruction.shape_mnk


def _distance(first: Operation, other: Operation, operand: int, forms: AddressForms) -> int | None:
    """Bytes from an operand of one product to that of another."""
    one, two = (forms.address(operation.operands[operand]) for operation in (first, other))
    same = (one.memory, one.terms) == (two.memory, two.terms)
    return two.known - one.known if same else None


def _join(run: list[Operation], forms: AddressForms, builder: Builder) -> None:
    """The last one becomes all of them."""
    first, last = run[0], run[-1]
    for name, operand in (("a", 1), ("b", 2)):
        places = []
        for operation in run:
            away = _distance(first, operation, operand, forms)
            assert away is not None, "operands of a run are at known distances"
            places += [place + away for place in operation.attributes[name]]
        last.attributes[name] = builder.integers(places)
    tiles = list(first.attributes["tiles"])
    depth = sum(list(operation.attributes["tiles"])[2] for operation in run)
    last.attributes["tiles"] = builder.integers([*tiles[:2], depth])
    for operand in (1, 2, 3):
        last.operands[operand] = first.operands[operand]
    for operation in run[:-1]:
        operation.erase()
