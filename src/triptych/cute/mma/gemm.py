"""Meta-stage, products of fragments: D = A * B + C for what the threads of an atom hold.

Input: tensors (values of an atom, atoms along a mode, atoms along the other). Output: what the atom's operation emits.
"""

from __future__ import annotations

from dataclasses import replace

from triptych.cute.mma.atoms import MmaAtom
from triptych.cute.mma.operand_checks import checked_product
from triptych.cute.mma.operands import misfit
from triptych.cute.mma.run_time_fields import get_field
from triptych.cute.mma.tiled import ThrMma, TiledMma
from triptych.cute.tensors.tensor import Tensor, static_size
from triptych.layout import rank, text
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place


def gemm(atom: MmaAtom | TiledMma | ThrMma, d: Tensor, a: Tensor, b: Tensor, c: Tensor) -> None:
    """D = A * B + C for fragments (V), for A (V, M) and B (V, N), or for A (V, M, K) and B (V, N, K)."""
    tiled = atom.tiled_mma if isinstance(atom, ThrMma) else atom
    used = tiled.atom if isinstance(tiled, TiledMma) else tiled
    if not isinstance(used, MmaAtom):
        raise OperandTypeError(
            "this is no matrix atom",
            span=place(),
            found=repr(atom),
            expected="what make_mma_atom or make_tiled_mma has made",
        )
    product = checked_product(used, d, a, b, c)
    used.op.require(tiled.size if isinstance(tiled, TiledMma) else static_size(used.thr_id, d))
    if (field := used.op.accumulate_field) is not None:
        product = replace(product, accumulate=get_field(tiled, field, field))
    used.op.emit(product)


def mma_atom_call(atom: MmaAtom | TiledMma, d: Tensor, a: Tensor, b: Tensor, c: Tensor) -> None:
    """D = A * B + C for one atom: fragments of rank 1."""
    for name, tensor in (("D", d), ("A", a), ("B", b), ("C", c)):
        if rank(tensor.layout) != 1:
            raise misfit(f"{name} has more than the values of one atom", f"{name} {text(tensor.layout.shape)}", "(V)")
    gemm(atom, d, a, b, c)
