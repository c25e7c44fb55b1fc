"""What can be wrong with pointers and tensors while a program is traced."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class TensorError(TriptychError):
    """Root of the errors of pointers and tensors."""

    code = "TT0900"


class TensorIndexError(TensorError, IndexError):
    """A coordinate that is known while tracing lies outside the tensor."""

    code = "TT0901"


class StaticTensorError(TensorError, TypeError):
    """An operation on whole tensors needs a shape that is known while tracing."""

    code = "TT0902"


class ElementTypeError(TensorError, TypeError):
    """A value that a tensor cannot hold without losing what it is."""

    code = "TT0903"


class TensorShapeError(TensorError, ValueError):
    """Two tensors, or a tensor and a value, whose shapes differ where they must agree."""

    code = "TT0904"


class PartialByteError(TensorError, TypeError):
    """Elements narrower than a byte are touched where only whole bytes can be."""

    code = "TT0905"


class PointerError(TensorError, ValueError):
    """A pointer is asked for an alignment, an address space or an offset that it cannot have."""

    code = "TT0906"


class IncompleteOperationError(TensorError, TypeError):
    """A copy or matrix operation of the program's own lacks what every operation has."""

    code = "TT0907"
