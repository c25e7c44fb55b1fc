"""Lines that checkers say nothing about when they are removed (`benchmarks.removed_lines`), with the reason."""

from __future__ import annotations

_BARRIER = "cute.arch.sync_threads()"
_WAIT_ORDERS = "the wait of a pipeline is a barrier between the last read of a stage and the copy that fills it again"
_OWN_ZEROS = "a thread clears what its own copies fill, and the first wait of the pipeline comes before all reads"
_OWN_BLOCK = "nobody outside of the block arrives at its barriers, and its memory stays until its last thread ends"

HARMLESS: dict[tuple[str, str], str] = {
    **{
        (file, line): reason
        for file in ("sgemm.py", "tensor_core_gemm.py", "flash_attention.py")
        for line, reason in {
            "pipe.producer_acquire(filling)": _WAIT_ORDERS,
            "pipe.consumer_release(using)": _WAIT_ORDERS,
            f"{_BARRIER}  # the zeros are there": _OWN_ZEROS,
        }.items()
    },
    ("hopper_gemm.py", "producer.tail()"): _OWN_BLOCK,
    ("blackwell_gemm.py", "begun.acquire_and_advance()"): "a block has one tile, whose sums are free when it begins",
    ("blackwell_gemm.py", "full.release()"): "nobody waits for the release of sums that are never computed again",
    ("block_sharing.py:155", _BARRIER): "the thread that clears the root wrote it last, and nobody else has read it",
    ("divergence.py:280", _BARRIER): "on that way nobody reads after the barrier in line 274, until all write again",
    ("normalisation.py:31", _BARRIER): "each call has memory of its own, so that nobody writes what others still read",
}
"""By the file, or the file and the line, and what stands there: nothing is wrong without it."""

NOT_SEEN: dict[tuple[str, str], str] = {
    (place, "cute.arch.sync_warp()"): "the lanes of a warp run together here, so that none looks at the flag before "
    "the first has set it; on a GPU one may"
    for place in ("waiting.py:74", "waiting.py:85")
}
"""What is wrong, and no run here shows it."""
