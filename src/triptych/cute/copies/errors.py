"""What can be wrong with copy instructions: there is none, or the tensors do not lie as it moves them."""

from __future__ import annotations

from triptych.cute.tracing.cute_errors import TensorError


class CopyInstructionError(TensorError, ValueError):
    """No copy instruction moves this many bits, matrices or elements of this type."""

    code = "TT0941"


class CopyMemoryError(TensorError, TypeError):
    """A copy instruction goes from one kind of memory to another; a tensor lies elsewhere or holds other elements."""

    code = "TT0942"


class CopyAlignmentError(TensorError, ValueError):
    """A copy instruction needs addresses of an alignment that cannot be proven."""

    code = "TT0943"


class CopyLayoutError(TensorError, ValueError):
    """The elements that one copy instruction moves do not lie side by side."""

    code = "TT0944"


class TensorMapError(TensorError, ValueError):
    """No tensor map describes this tensor, or no box of it is this tile of shared memory."""

    code = "TT0945"


class BoxCopyError(TensorError, ValueError):
    """A copy of boxes lacks what it needs: a barrier, a tile as the atom was made for, aligned shared memory."""

    code = "TT0946"
