"""Kernels of producers and consumers, out of decisions: rings, roles, who arrives how, clusters."""

from __future__ import annotations

from textwrap import indent

from tests.differential.choices import Choices
from tests.differential.pipelines.program import COLUMNS, ITEM, MOST_ITEMS, ROWS, PipelineProgram, Ring, Role

_HOST = """
@tt.jit
def launch(given: cute.Tensor, out: cute.Tensor, items: tt.Int32) -> None:
    row = cute.make_ordered_layout(({rows}, {columns}), (1, 0))
    tile = ({rows}, {columns})
    atom, tensor = cpasync.make_tiled_tma_atom({load}, given, row, tile{multicast})
    to, target = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), out, row, tile)
    fuzzed(atom, tensor, to, target, given, out, items).launch(grid={blocks}, block={threads}{cluster})
"""
_KERNEL = """
@tt.kernel
def fuzzed(
    atom: cute.CopyAtom, tensor: cute.Tensor, to: cute.CopyAtom, target: cute.Tensor,
    given: cute.Tensor, out: cute.Tensor, items: tt.Int32,
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cute.SmemAllocator()
"""


def generate(choices: Choices) -> PipelineProgram:
    """A program that ends, and whose results do not depend on who is faster."""
    cluster = choices.choice((1, 1, 1, 2, 4))
    links = choices.integer(1, 3)
    rings = []
    for number in range(links):
        kinds = ("threads", "warps", "bytes") if number == 0 else ("threads", "warps")
        kind = "bytes" if cluster > 1 and number == 0 else choices.choice(kinds)
        rings.append(Ring(choices.integer(1, 4), kind))
    sinks = choices.integer(1, 2)
    roles = [_role(choices, rings, number, links) for number in range(links + sinks)]
    blocks = cluster * choices.integer(1, 2)
    calls = tuple(choices.integer(0, MOST_ITEMS) for _ in range(4))
    source = _source(rings, roles, cluster, blocks)
    level = choices.choice((1, 1, 1, 0, 3))
    order = choices.choice(("early", "late", f"seed:{choices.below(10)}"))
    return PipelineProgram(source, tuple(rings), tuple(roles), sinks, blocks, calls, level, order)


def _role(choices: Choices, rings: list[Ring], number: int, links: int) -> Role:
    before = rings[min(number, links) - 1] if number else None
    return Role(
        warps=1 if number == 0 and rings[0].kind == "bytes" else choices.choice((1, 2, 4)),
        turn=choices.below(ITEM),
        factor=choices.integer(1, 5),
        addend=choices.below(100),
        style=choices.choice(("states", "handles")),
        asks=choices.boolean(0.4),
        held=choices.below(min(before.stages, 3)) if before else 0,
        loop=choices.choice(("for", "while", "nested")),
        stored=choices.choice((0, 0, 1, 2)) if number >= links else 0,
    )


# the text -------------------------------------------------------------------------------------------------------------
def _source(rings: list[Ring], roles: list[Role], cluster: int, blocks: int) -> str:
    links = len(rings)
    text = _KERNEL
    text += indent("\n".join(_ring(rings, roles, number, cluster) for number in range(links)), "    ")
    for number, role in enumerate(roles[links:]):
        if role.stored:
            layout = f"cute.make_layout(({ROWS}, {COLUMNS}, {role.stored}), stride=({COLUMNS}, 1, {ITEM}))"
            text += f"\n    staged_{number} = smem.allocate_tensor(tt.Int32, {layout}, 1024)"
    first = 0
    for number, role in enumerate(roles):
        word = "if" if number == 0 else "elif"
        text += f"\n    {word} warp < {first + role.warps}:\n"
        body = [f"own = thread - {32 * first}", *_body(rings, roles, number, cluster, blocks)]
        text += indent("\n".join(body), "        ")
        first += role.warps
    return text + "\n" + _HOST.format(
        rows=ROWS,
        columns=COLUMNS,
        load=f"cpasync.CopyBulkTensorTileG2S{'Multicast' if cluster > 1 else ''}Op()",
        multicast=f", num_multicast={cluster}" if cluster > 1 else "",
        blocks=blocks,
        threads=32 * first,
        cluster=f", cluster=({cluster}, 1, 1)" if cluster > 1 else "",
    )  # fmt: skip


def _ring(rings: list[Ring], roles: list[Role], number: int, cluster: int) -> str:
    """Memory and barriers."""
    ring, links = rings[number], len(rings)
    takers = roles[number + 1 : number + 2] if number + 1 < links else roles[links:]
    warps_in, warps_out = roles[number].warps, sum(role.warps for role in takers)
    each = 32 if ring.kind == "threads" else 1
    layout = f"cute.make_layout(({ROWS}, {COLUMNS}, {ring.stages}), stride=({COLUMNS}, 1, {ITEM}))"
    lines = [
        f"tile_{number} = smem.allocate_tensor(tt.Int32, {layout}, 1024)",
        f"data_{number} = cute.make_tensor(tile_{number}.iterator, cute.make_layout(({ITEM}, {ring.stages})))",
        f"barriers_{number} = smem.allocate_array(tt.Int64, {2 * ring.stages})",
    ]
    group = "pipeline.CooperativeGroup(pipeline.Agent.Thread, {})".format
    storage = f"num_stages={ring.stages}, barrier_storage=barriers_{number}"
    if ring.kind == "bytes":
        cta = f", cta_layout_vmnk=cute.make_layout((1, {cluster}, 1, 1))" if cluster > 1 else ""
        groups = f"producer_group={group(1)}, consumer_group={group(warps_out * cluster)}"
        kind, more = "PipelineTmaAsync", f", tx_count={4 * ITEM}{cta}"
    else:
        groups = f"producer_group={group(each * warps_in)}, consumer_group={group(each * warps_out)}"
        kind, more = "PipelineAsync", ""
    return "\n".join([*lines, f"ring_{number} = pipeline.{kind}.create({storage}, {groups}{more})"])


def _body(rings: list[Ring], roles: list[Role], number: int, cluster: int, blocks: int) -> list[str]:
    """What the threads of a role do."""
    role, links = roles[number], len(rings)
    taken = min(number, links) - 1 if number else None
    put = number if number < links else None
    before: list[str] = []
    turn: list[str] = []
    after: list[str] = []
    if put == 0 and rings[0].kind == "bytes":
        before += _parts(cluster)
    if taken is not None:
        _take(rings[taken], role, taken, before, turn)
    if put is not None:
        _put(rings, role, taken, put, cluster, before, turn, after)
    else:
        _write(role, links - 1, number - links, blocks, before, turn, after)
    if taken is not None:
        _release(rings[taken], role, taken, turn, after)
    return [*before, *_loop(role.loop, turn), *after]


def _loop(kind: str, turn: list[str]) -> list[str]:
    inside = [f"    {line}" for line in turn]
    if kind == "while":
        return ["i = tt.Int32(0)", "while i < items:", *inside, "    i += 1"]
    if kind == "nested":
        deeper = [f"        {line}" for line in inside]
        head = ["for outer in range((items + 1) // 2):", "    for inner in range(2):", "        i = outer * 2 + inner"]
        return [*head, "        if i < items:", *deeper]
    return ["for i in range(items):", *inside]


def _take(ring: Ring, role: Role, taken: int, before: list[str], turn: list[str]) -> None:
    """Wait for a full stage."""
    pipe = f"ring_{taken}"
    state = f"pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, {ring.stages})"
    if role.style == "handles" and not role.held:
        before.append(f"consumer = {pipe}.make_consumer()")
        asked = "consumer.try_wait()" if role.asks else ""
        turn += [f"full = consumer.wait_and_advance({asked})", "at = full.index"]
        return
    before += [f"taking = {state}", f"giving = {state}"]
    token = f", {pipe}.consumer_try_wait(taking)" if role.asks else ""
    turn += [f"{pipe}.consumer_wait(taking{token})", "at = taking.index"]


def _release(ring: Ring, role: Role, taken: int, turn: list[str], after: list[str]) -> None:
    """Give a stage back, perhaps some turns later."""
    pipe = f"ring_{taken}"

    def released(call: str) -> list[str]:
        if ring.kind == "threads":
            return [call]
        if ring.kind == "bytes":
            return ["cute.arch.sync_warp()", call]
        return ["cute.arch.sync_warp()", "with cute.arch.elect_one():", f"    {call}"]

    if role.style == "handles" and not role.held:
        turn += released("full.release()")
        return
    turn.append("taking.advance()")
    step = [*released(f"{pipe}.consumer_release(giving)"), "giving.advance()"]
    if not role.held:
        turn += step
        return
    turn += [f"if i >= {role.held}:", *(f"    {line}" for line in step)]
    after += [f"for late in tt.range_constexpr({role.held}):", "    if late < items:"]
    after += [f"        {line}" for line in step]


def _made(role: Role, source: str) -> str:
    """An element of the item that a role makes."""
    return f"{source} * {role.factor} + {role.addend} + i"


def _elements(role: Role, line: str) -> list[str]:
    steps = ITEM // (32 * role.warps)
    return [f"for j in tt.range_constexpr({steps}):", f"    e = own + j * {32 * role.warps}",
            f"    s = (e + {role.turn}) % {ITEM}", f"    {line}"]  # fmt: skip


def _put(
    rings: list[Ring], role: Role, taken: int | None, put: int, cluster: int,
    before: list[str], turn: list[str], after: list[str],
) -> None:  # fmt: skip
    """Wait for an empty stage and fill it."""
    ring, pipe = rings[put], f"ring_{put}"
    handles = role.style == "handles"
    if handles:
        before.append(f"producer = {pipe}.make_producer()")
        asked = "producer.try_acquire()" if role.asks else ""
        turn += [f"free = producer.acquire_and_advance({asked})", "into = free.index"]
        after.append("producer.tail()")
    else:
        before.append(f"putting = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, {ring.stages})")
        token = f", {pipe}.producer_try_acquire(putting)" if role.asks else ""
        turn += [f"{pipe}.producer_acquire(putting{token})", "into = putting.index"]
        after.append(f"{pipe}.producer_tail(putting)")
    if ring.kind == "bytes":
        barrier = "free.barrier" if handles else f"{pipe}.producer_get_barrier(putting)"
        mask = f", mcast_mask={(1 << cluster) - 1}" if cluster > 1 else ""
        turn.append(f"cute.copy(atom, there[None, i, 0], here[None, into], tma_bar_ptr={barrier}{mask})")
    else:
        source = f"given[i * {ROWS} + s // {COLUMNS}, s % {COLUMNS}]" if taken is None else f"data_{taken}[s, at]"
        turn += _elements(role, f"data_{put}[e, into] = {_made(role, source)}")
    commit = "free.commit()" if handles else f"{pipe}.producer_commit(putting)"
    if ring.kind == "warps":
        turn += ["cute.arch.sync_warp()", "with cute.arch.elect_one():", f"    {commit}"]
    else:
        turn.append(commit)
    if not handles:
        turn.append("putting.advance()")


def _parts(cluster: int) -> list[str]:
    rank = "cute.arch.block_idx_in_cluster()" if cluster > 1 else "0"
    return [
        f"items_of = cute.local_tile(tensor, ({ROWS}, {COLUMNS}), (None, None))",
        f"here, there = cpasync.tma_partition(atom, {rank}, cute.make_layout({cluster}), "
        "cute.group_modes(tile_0, 0, 2), cute.group_modes(items_of, 0, 2))",
    ]


def _write(
    role: Role, taken: int, sink: int, blocks: int, before: list[str], turn: list[str], after: list[str]
) -> None:
    """The item is written down, by threads or as a box."""
    place = f"(({sink} * {blocks} + block) * {MOST_ITEMS} + i)"
    source = f"data_{taken}[s, at]"
    if not role.stored:
        at = f"out[{place} * {ROWS} + e // {COLUMNS}, e % {COLUMNS}]"
        turn += _elements(role, f"{at} = {_made(role, source)}")
        return
    staged, threads = f"staged_{sink}", 32 * role.warps
    before += [
        f"stores = pipeline.PipelineTmaStore.create(num_stages={role.stored}, "
        f"producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, {threads}))",
        f"flat = cute.make_tensor({staged}.iterator, cute.make_layout(({ITEM}, {role.stored})))",
        f"boxes = cute.local_tile(target, ({ROWS}, {COLUMNS}), (None, None))",
        "read, written = cpasync.tma_partition(to, 0, cute.make_layout(1), "
        f"cute.group_modes({staged}, 0, 2), cute.group_modes(boxes, 0, 2))",
    ]
    barrier = f"cute.arch.barrier(barrier_id={1 + sink}, number_of_threads={threads})"
    turn += [
        *_elements(role, f"flat[e, i % {role.stored}] = {_made(role, source)}"),
        'cute.arch.fence_proxy("async.shared", space="cta")',
        barrier,
        "if own < 32:",
        f"    cute.copy(to, read[None, i % {role.stored}], written[None, {place}, 0])",
        "    stores.producer_commit()",
        "    stores.producer_acquire()",
        barrier,
    ]
    after += ["if own < 32:", "    cute.arch.cp_async_bulk_wait_group(0)"]
