"""What can be wrong with the description of a tensor argument."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class TensorMarkingError(TriptychError, ValueError):
    """A tensor is marked as dynamic in a way that its layout does not allow."""

    code = "TT0644"


class UndeterminedSymbolError(TriptychError, ValueError):
    """An unknown of a fake tensor that no extent or stride of the arguments gives by itself."""

    code = "TT0645"


class FakeTensorError(TriptychError, TypeError):
    """A fake tensor is described wrongly, or used where its elements are needed: it has none."""

    code = "TT0646"


class PointerArgumentError(TriptychError, ValueError):
    """An address that is not what a pointer argument was declared to be."""

    code = "TT0647"
