"""Pass `bound-launches`: what a launch promises about its shape is told to the code generator.

The number of threads of a block bounds the registers of each; without it the assembler assumes blocks of 1024.
"""

from __future__ import annotations

from typing import Any

from triptych.ir import bindings
from triptych.targets.nvptx.kernels import kernels

_MOST_THREADS, _FEWEST_BLOCKS = "triptych.max_number_threads", "triptych.min_blocks_per_mp"


def bound_launches(module: Any) -> None:
    """Turn the hints of kernels into attributes that become PTX directives."""
    ir = bindings.mlir()
    for kernel in kernels(module):
        attributes = kernel.attributes
        if _MOST_THREADS in attributes and "known_block_size" not in attributes:
            attributes["nvvm.maxntid"] = ir.DenseI32ArrayAttr.get([attributes[_MOST_THREADS].value])
        if _FEWEST_BLOCKS in attributes:
            attributes["nvvm.minctasm"] = attributes[_FEWEST_BLOCKS]
        for hint in (_MOST_THREADS, _FEWEST_BLOCKS):
            if hint in attributes:
                del attributes[hint]
