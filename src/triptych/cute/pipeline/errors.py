"""What can be wrong with pipelines while a kernel is traced."""

from __future__ import annotations

from triptych.cute.tracing.cute_errors import TensorError


class PipelineError(TensorError, ValueError):
    """A pipeline whose producers and consumers, or whose stages, the barriers of a block cannot serve."""

    code = "TT0920"
