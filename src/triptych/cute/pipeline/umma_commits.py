"""UMMA commits, which arrive when products are complete, and the blocks of a cluster whose barriers they reach."""

from __future__ import annotations

from typing import Any

from triptych.cute.arch.indices import block_idx_in_cluster
from triptych.cute.dynamic.traced_integers import ints
from triptych.cute.memory.pointers import Pointer
from triptych.cute.nvgpu.cta_groups import CtaGroup
from triptych.cute.tensors.layout_queries import make_layout_image_mask
from triptych.cute.tracing.device import Integer, bits32, device_trace
from triptych.kernel_ir.dialects.tile import TMEM_FENCE, UMMA_COMMIT
from triptych.layout import Layout, size


def commit_products(barrier: Pointer, group: CtaGroup, blocks: Integer | None) -> None:
    """One thread of the warp arrives when the products that it has begun are complete; on a barrier of this block, or
    of every block of a mask."""
    trace = device_trace()
    attributes = {
        "ctas": trace.builder.integer("i64", group.value),
        "multicast": trace.builder.attribute("false" if blocks is None else "true"),
    }
    mask = bits32(0 if blocks is None else blocks)
    trace.operation(UMMA_COMMIT, (barrier.ir_value(), mask), attributes=attributes)


def fence_after_wait() -> None:
    """What this thread does with tensor memory from here on comes after what it has waited for."""
    trace = device_trace()
    trace.operation(TMEM_FENCE, attributes={"kind": trace.builder.string("after")})


def cta_group(blocks: Layout | None) -> CtaGroup:
    """The CTAs that compute a product together."""
    count: Any = 1 if blocks is None else size(blocks, [0])
    return CtaGroup(int(count))


def leads(blocks: Layout | None) -> Any:
    """Whether this block issues products: the first of a pair, and every one without."""
    return cta_group(blocks) is CtaGroup.ONE or block_idx_in_cluster() % 2 == 0


def leader(blocks: Layout | None) -> Any:
    """The block of the cluster that issues the products of this one's pair; None: itself."""
    if cta_group(blocks) is CtaGroup.ONE:
        return None
    rank = block_idx_in_cluster()
    return rank - rank % 2


def blocks_along(blocks: Layout, *modes: int) -> Any:
    """A mask of the blocks that differ from this one along one of the modes, with the other CTA of the pair of each."""
    found: Any = blocks.get_flat_coord(ints(block_idx_in_cluster()))
    _, *here = tuple(found)
    ctas = cta_group(blocks).value
    masks = [make_layout_image_mask(blocks, (v, *here), mode) for v in range(ctas) for mode in modes]
    mask = masks[0]
    for more in masks[1:]:
        mask = mask | more
    return mask
