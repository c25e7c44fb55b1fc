"""Tiled MMA: one MMA atom repeated over the threads of a block and over the values of each thread.

Input: an atom, how copies of it lie on (M, N, K), and how many elements (or which) all copies together take. Output:
the parts of A (m, k), B (n, k) and C (m, n) that each thread holds.
"""

from __future__ import annotations

from typing import Any

from triptych.cute.dynamic.static_values import StaticExpression
from triptych.cute.dynamic.traced_integers import ints
from triptych.cute.mma.atoms import MmaAtom, MmaOperation, make_mma_atom
from triptych.cute.mma.run_time_fields import get_field, set_field
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tracing.device import warn_of_missing_threads
from triptych.cute.tracing.eager import eager
from triptych.cute.tracing.errors import MatrixTilingError
from triptych.layout import AnyLayout, IntTuple, Layout, make_layout, right_inverse, size, text, tiled_product
from triptych.layout.layout import from_modes
from triptych.layout.thread_values import distribute_to_atoms, part_of_atom, tiled_thread_values
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Numeric
from triptych.support.dataclass import dataclass

_M, _N, _K = range(3)
_A, _B, _C = (_M, _K), (_N, _K), (_M, _N)
"""The modes of each operand."""

Permutation = int | Layout | None


@dataclass(frozen=True, slots=True)
class TiledMma(StaticExpression):
    """`atom_layout_mnk` lays atoms on (M, N, K); `permutation_mnk` says what all atoms together take of each mode."""

    atom: MmaAtom
    atom_layout_mnk: Layout
    permutation_mnk: tuple[Permutation, Permutation, Permutation]

    # what it is -------------------------------------------------------------------------------------------------
    @property
    def op(self) -> MmaOperation:
        """The operation of its atom."""
        return self.atom.op

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        """The shape of one atom."""
        return self.atom.shape_mnk

    @property
    def thr_id(self) -> Layout:
        """The threads of one atom."""
        return self.atom.thr_id

    @property
    def thr_layout_vmnk(self) -> Layout:
        """(thread of an atom, atom along M, N, K) -> thread."""
        return tiled_product(self.atom.thr_id, self.atom_layout_mnk)

    @property
    def size(self) -> int:
        """How many threads take part."""
        return _known(size(self.thr_layout_vmnk))

    def __threads__(self) -> int:
        """What `cute.size` of it is."""
        return self.size

    def get_tile_size(self, mode_idx: int) -> int:
        """How many elements of M (0), N (1) or K (2) all atoms together take."""
        taken = self.permutation_mnk[mode_idx]
        if taken is None:
            return self.shape_mnk[mode_idx] * _known(size(self.atom_layout_mnk, [mode_idx]))
        return taken if isinstance(taken, int) else _known(size(taken))

    @property
    def tv_layout_A(self) -> Layout:
        """Of one atom."""
        return self.atom.tv_layout_A

    @property
    def tv_layout_B(self) -> Layout:
        """Of one atom."""
        return self.atom.tv_layout_B

    @property
    def tv_layout_C(self) -> Layout:
        """Of one atom."""
        return self.atom.tv_layout_C

    @property
    def tv_layout_A_tiled(self) -> Layout:
        """(thread, value) -> m + M * k of one tile."""
        return self.thread_values(_A, self.tv_layout_A)

    @property
    def tv_layout_B_tiled(self) -> Layout:
        """(thread, value) -> n + N * k of one tile."""
        return self.thread_values(_B, self.tv_layout_B)

    @property
    def tv_layout_C_tiled(self) -> Layout:
        """(thread, value) -> m + M * n of one tile."""
        return self.thread_values(_C, self.tv_layout_C)

    # fields -----------------------------------------------------------------------------------------------------
    def set(self, field: object, value: object) -> None:
        """Give a field of the operation a value, from here on."""
        set_field(self, self.op.fields, field, value)

    def get(self, field: object) -> Any:
        """The value of a field of the operation."""
        return get_field(self, self.op.fields, field)

    # parts ------------------------------------------------------------------------------------------------------
    def get_slice(self, thr_idx: Numeric | int) -> ThrMma:
        """The part of one thread."""
        if isinstance(thr_idx, int) and not 0 <= thr_idx < self.size:
            raise MatrixTilingError(
                "a thread that takes no part in the product",
                span=place(),
                found=f"thread {thr_idx} of {self}",
                expected=f"a thread from 0 to {self.size - 1}",
            )
        warn_of_missing_threads("the tiled product", self.size, thr_idx)
        return ThrMma(self, thr_idx)

    def partition_shape_A(self, shape_mk: IntTuple) -> Any:
        """The shape of what a thread holds of a matrix A."""
        return self._shape(_A, self.tv_layout_A, shape_mk)

    def partition_shape_B(self, shape_nk: IntTuple) -> Any:
        """The shape of what a thread holds of a matrix B."""
        return self._shape(_B, self.tv_layout_B, shape_nk)

    def partition_shape_C(self, shape_mn: IntTuple) -> Any:
        """The shape of what a thread holds of a matrix C."""
        return self._shape(_C, self.tv_layout_C, shape_mn)

    def make_fragment_A(self, source: Tensor | AnyLayout | IntTuple) -> Tensor:
        """Registers for a part of A: like a partition of it, or of the shape of one."""
        return self.atom.make_fragment_A(source)

    def make_fragment_B(self, source: Tensor | AnyLayout | IntTuple) -> Tensor:
        """Registers for a part of B."""
        return self.atom.make_fragment_B(source)

    def make_fragment_C(self, source: Tensor | AnyLayout | IntTuple) -> Tensor:
        """Registers for a part of the sums, whatever the type that memory holds."""
        return self.atom.make_fragment_C(source)

    def _thrfrg_A(self, input_mk: Layout) -> Layout:
        """A layout (M, K) as all threads hold it: ((thread, (atom m, atom k)), (values, (rest m, rest k)))."""
        distributed = self.distribute(input_mk, _A, self.tv_layout_A)
        assert isinstance(distributed, Layout), "distributing a layout gives a layout"
        (thread, values), ((m, rest_m), (k, rest_k)) = distributed
        threads, held = from_modes((thread, from_modes((m, k)))), from_modes((values, from_modes((rest_m, rest_k))))
        return from_modes((threads, held))

    def distribute(self, target: AnyLayout, modes: tuple[int, int], tv: Layout) -> AnyLayout:
        """A matrix of two of the modes as the atoms take it."""
        order = tuple(self._order(mode) for mode in modes)
        shape = tuple(self.shape_mnk[mode] for mode in modes)
        atoms = tuple(size(self.atom_layout_mnk, [mode]) for mode in modes)
        return distribute_to_atoms(target, order, shape, tv, atoms)

    def _order(self, mode: int) -> int | Layout:
        taken = self.permutation_mnk[mode]
        return self.get_tile_size(mode) if taken is None else taken

    def thread_values(self, modes: tuple[int, int], tv: Layout) -> Layout:
        """(thread, value) -> number of an element of one tile of two of the modes, from the layout of one atom."""
        distributed = self.distribute(make_layout(tuple(map(self.get_tile_size, modes))), modes, tv)
        assert isinstance(distributed, Layout), "distributing a layout gives a layout"
        return tiled_thread_values(distributed, self.thr_layout_vmnk, 1 + modes[0], 1 + modes[1])

    def _shape(self, modes: tuple[int, int], tv: Layout, shape: IntTuple) -> Any:
        return part_of_atom(self.distribute(make_layout(ints(shape)), modes, tv), 0, 0, 0)[0].shape

    def __str__(self) -> str:
        taken = tuple(map(self.get_tile_size, range(3)))
        return f"tiled product of {self.atom} by {self.atom_layout_mnk} on {text(taken)}"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class ThrMma:
    """One thread of a tiled product."""

    tiled_mma: TiledMma
    thr_idx: Numeric | int

    def partition_A(self, input_mk: Tensor) -> Tensor:
        """What this thread holds of a matrix A: (values of an atom, atoms along M, atoms along K, further modes…)."""
        return self._part(input_mk, _A, self.tiled_mma.tv_layout_A)

    def partition_B(self, input_nk: Tensor) -> Tensor:
        """What this thread holds of a matrix B: (values of an atom, atoms along N, atoms along K, further modes…)."""
        return self._part(input_nk, _B, self.tiled_mma.tv_layout_B)

    def partition_C(self, input_mn: Tensor) -> Tensor:
        """What this thread holds of a matrix C: (values of an atom, atoms along M, atoms along N, further modes…)."""
        return self._part(input_mn, _C, self.tiled_mma.tv_layout_C)

    def __threads__(self) -> int:
        """What `cute.size` of it is: all threads of the product."""
        return self.tiled_mma.size

    def __getattr__(self, name: str) -> Any:
        """A thread of a product knows what the product knows: shapes, layouts, fragments."""
        if name.startswith("__") or name in ("tiled_mma", "thr_idx"):
            raise AttributeError(name)
        return getattr(self.tiled_mma, name)

    def _part(self, tensor: Tensor, modes: tuple[int, int], tv: Layout) -> Tensor:
        coordinate: Any = self.tiled_mma.thr_layout_vmnk.get_flat_coord(ints(self.thr_idx))
        thread, row, column = coordinate[0], coordinate[1 + modes[0]], coordinate[1 + modes[1]]
        layout, offset = part_of_atom(self.tiled_mma.distribute(tensor.layout, modes, tv), thread, row, column)
        return tensor.moved(offset, layout)


@eager
def make_tiled_mma(
    op_or_atom: MmaOperation | MmaAtom,
    atom_layout_mnk: Layout | tuple[int, ...] = (1, 1, 1),
    permutation_mnk: tuple[Permutation, ...] | None = None,
) -> TiledMma:
    """Repeat an atom over threads and values; None in a permutation takes as much of a mode as the atoms cover."""
    atom = op_or_atom if isinstance(op_or_atom, MmaAtom) else make_mma_atom(op_or_atom)
    given = atom_layout_mnk if isinstance(atom_layout_mnk, Layout) else make_layout(atom_layout_mnk)
    layout = _with_three_modes(given)
    tiled = TiledMma(atom, layout, _three(permutation_mnk or ()))
    for mode, name in enumerate("MNK"):
        _require_whole_atoms(tiled, mode, name)
    return tiled


def _with_three_modes(layout: Layout) -> Layout:
    modes = (*layout, *(Layout(1, 0) for _ in range(3 - len(layout))))
    threads = from_modes(modes)
    if len(modes) != 3 or not layout.is_static or size(right_inverse(threads)) != size(threads):
        raise MatrixTilingError(
            "atoms do not lie on threads one after another",
            span=place(),
            found=f"atom_layout_mnk={layout}",
            expected="a static layout of at most three modes that numbers its atoms from 0 without gaps",
        )
    return threads


def _three(permutation: tuple[Permutation, ...]) -> tuple[Permutation, Permutation, Permutation]:
    is_known = all(isinstance(taken, int) or taken is None or _is_static(taken) for taken in permutation)
    if len(permutation) > 3 or not is_known:
        raise MatrixTilingError(
            "this is no permutation of M, N and K",
            span=place(),
            found=f"permutation_mnk={permutation}",
            expected="at most three entries: a number of elements, a static layout, or None",
        )
    m, n, k, *_ = (*permutation, None, None, None)
    return m, n, k


def _is_static(taken: object) -> bool:
    return isinstance(taken, Layout) and taken.is_static


def _require_whole_atoms(tiled: TiledMma, mode: int, name: str) -> None:
    taken = tiled.get_tile_size(mode)
    covered = tiled.shape_mnk[mode] * _known(size(tiled.atom_layout_mnk, [mode]))
    order = tiled.permutation_mnk[mode]
    once = not isinstance(order, Layout) or size(right_inverse(order)) == taken
    if taken % covered or not once:
        raise MatrixTilingError(
            f"the permutation of {name} does not hold whole atoms",
            span=place(),
            found=f"permutation {order} of {name} for atoms that take {covered}",
            expected=f"None, a multiple of {covered}, or a layout that numbers such a multiple of elements once each",
        )


def _known(count: object) -> int:
    assert isinstance(count, int), "make_tiled_mma has refused a layout that is not known while tracing"
    return count
