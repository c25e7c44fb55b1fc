"""GEMM on fragments: D = A * B + C for what the threads of an atom hold.

Input: tensors (values of an atom, atoms along a mode, atoms along the other). Output: what the atom's operation emits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.mma.atoms import MmaAtom, MmaOperands, Operand, misfit
from triptych.cute.mma.run_time_fields import get_field, has_addresses
from triptych.cute.mma.tiled import ThrMma, TiledMma
from triptych.cute.tensors.tensor import Tensor, static_size
from triptych.cute.tensors.views import prepend_ones
from triptych.layout import Layout, rank, size, text
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Float32, Numeric, TFloat32

# Meta-stage, checks of a product's operands before anything is emitted; an error names the operand and the mode.


def checked_product(atom: MmaAtom, d: Tensor, a: Tensor, b: Tensor, c: Tensor) -> MmaOperands:
    """The operands of D = A * B + C."""
    ranks = tuple(rank(tensor.layout) for tensor in (a, b, d, c))
    if ranks in ((1, 1, 2, 2), (2, 2, 2, 2)):  # an atom of one value each, whose mode is left out
        ones = [prepend_ones(tensor, rank(tensor.layout) + 1) for tensor in (d, a, b, c)]
        return checked_product(atom, *ones)
    if ranks not in ((1, 1, 1, 1), (2, 2, 3, 3), (3, 3, 3, 3)):
        raise misfit(
            "the operands of a product do not have the modes of one",
            f"A of rank {ranks[0]}, B of rank {ranks[1]}, D of rank {ranks[2]}, C of rank {ranks[3]}",
            "A (V), B (V), D (V); A (V, M), B (V, N), D (V, M, N); or A (V, M, K), B (V, N, K), D (V, M, N); without V "
            "where it is one value: A (M), B (N), D (M, N); or A (M, K), B (N, K), D (M, N)",
        )
    op = atom.op
    product = MmaOperands(
        _operand(atom, "D", "MN", d, op.acc_dtype, atom.tv_layout_C),
        _operand(atom, "A", "MK", a, op.held_dtype("A"), atom.tv_layout_A),
        _operand(atom, "B", "NK", b, op.held_dtype("B"), atom.tv_layout_B),
        _operand(atom, "C", "MN", c, op.acc_dtype, atom.tv_layout_C),
    )
    _require_equal(product.a, 1, product.d, 1)
    _require_equal(product.b, 1, product.d, 2)
    _require_equal(product.a, 2, product.b, 2)
    _require_equal(product.c, 1, product.d, 1)
    _require_equal(product.c, 2, product.d, 2)
    return product


def _operand(atom: MmaAtom, name: str, modes: str, tensor: Tensor, dtype: type[Numeric], tv: Layout) -> Operand:
    found = tensor.element_type
    if found is not dtype and not (dtype is TFloat32 and found is Float32):
        kind = "coordinates" if found is None else found.__name__
        raise misfit(f"the elements of {name} have another type than {atom} takes", kind, dtype.__name__)
    space = atom.op.space_of(name)
    if space is AddressSpace.rmem and tensor.memspace is not space:
        raise misfit(f"{name} does not lie in registers", str(tensor), "a register tensor", "a copy into a fragment")
    if space is not None and tensor.memspace is not space:
        raise misfit(f"{name} does not lie in {space.name}", str(tensor), f"a tensor in {space.name}")
    if space is AddressSpace.smem and tensor.pointer.operand is None:
        instead = f"make_fragment_{name}(partition_{name}(tensor)), and parts of that"
        raise misfit(f"{name} is memory, and no view of it that instructions read", str(tensor), "a fragment", instead)
    static_size(tensor.layout, tensor)
    extents: Any = (*(size(tensor.layout, [mode]) for mode in range(rank(tensor.layout))), 1, 1)[:3]
    values = size(tv, [1]) if tensor.pointer.operand is None else 1
    if extents[0] != values:
        raise misfit(
            f"the first mode of {name} (values of an atom) does not fit {atom}",
            f"{extents[0]} values in {text(tensor.layout.shape)}",
            f"{values} values",
        )
    return Operand(name, modes, tensor, found or dtype, extents)


Scaled = Tensor | Sequence[Tensor]
"""An operand, or an operand and its block scales."""


def _parts(operand: Scaled) -> tuple[Tensor, Tensor | None]:
    if isinstance(operand, Tensor):
        return operand, None
    elements, scales = operand if len(operand) == 2 else (operand[0], None)
    return elements, scales


def _with_scales(atom: MmaAtom, product: MmaOperands, sfa: Tensor | None, sfb: Tensor | None) -> MmaOperands:
    """The same operands with block scales, which only some operations have."""
    known = atom.op.scales
    if sfa is None and sfb is None and (known is None or has_addresses(atom.op.fields)):
        return product
    if known is None or sfa is None or sfb is None:
        raise misfit(
            f"{atom} takes {'no' if known is None else 'both operands with their'} block scales",
            "scales of "
            + (" and ".join(name for name, given in (("A", sfa), ("B", sfb)) if given is not None) or "no operand"),
            "A and B" if known is None else "[A, scales of A] and [B, scales of B]",
        )
    left = _operand(atom, "SFA", "MK", sfa, known.dtype, known.tv_a)
    right = _operand(atom, "SFB", "NK", sfb, known.dtype, known.tv_b)
    for scales, operand in ((left, product.a), (right, product.b)):
        _require_equal(scales, 1, operand, 1)
        _require_equal(scales, 2, operand, 2)
    return replace(product, sfa=left, sfb=right)


def _require_equal(one: Operand, mode: int, other: Operand, other_mode: int) -> None:
    if one.extents[mode] == other.extents[other_mode]:
        return
    letter = one.modes[mode - 1]
    raise misfit(
        f"{one.name} and {other.name} differ in {letter}",
        f"{letter} of {one.name} is {one.extents[mode]} in {text(one.tensor.layout.shape)}, "
        f"{letter} of {other.name} is {other.extents[other_mode]} in {text(other.tensor.layout.shape)}",
        f"the same extent of {letter}",
    )


def gemm(atom: MmaAtom | TiledMma | ThrMma, d: Tensor, a: Scaled, b: Scaled, c: Tensor) -> None:
    """D = A * B + C for fragments (V), for A (V, M) and B (V, N), or for A (V, M, K) and B (V, N, K).

    With block scales, A and B are lists of an operand and its scales.
    """
    tiled = atom.tiled_mma if isinstance(atom, ThrMma) else atom
    used = tiled.atom if isinstance(tiled, TiledMma) else tiled
    if not isinstance(used, MmaAtom):
        raise OperandTypeError(
            "this is no matrix atom",
            span=place(),
            found=repr(atom),
            expected="what make_mma_atom or make_tiled_mma has made",
        )
    (left, sfa), (right, sfb) = _parts(a), _parts(b)
    product = _with_scales(used, checked_product(used, d, left, right, c), sfa, sfb)
    used.op.require(tiled.size if isinstance(tiled, TiledMma) else static_size(used.thr_id, d))
    fields = used.op.fields
    given: dict[str, Any] = {
        known.role: get_field(tiled, fields, field)
        for field, known in fields.items()
        if not known.is_address or product.sfa is None
    }
    used.op.emit(replace(product, **given) if given else product)


def mma_atom_call(atom: MmaAtom | TiledMma, d: Tensor, a: Tensor, b: Tensor, c: Tensor) -> None:
    """D = A * B + C for one atom: fragments of rank 1."""
    for name, tensor in (("D", d), ("A", a), ("B", b), ("C", c)):
        if rank(tensor.layout) != 1:
            raise misfit(f"{name} has more than the values of one atom", f"{name} {text(tensor.layout.shape)}", "(V)")
    gemm(atom, d, a, b, c)
