"""The view of a launch: every operand by its name, whichever of the others are there."""

from __future__ import annotations

from typing import Any

import pytest

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.launch import EVENT_OPTIONS, LAUNCH, Launch, launch_parts, launches
from triptych.ir.modules import function
from triptych.ir.passes import verify

HOST = """
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @other() kernel { gpu.return }
    gpu.func @k(%x: i64, %y: f32) kernel { gpu.return }
    gpu.func @more(%x: i64, %y: f32, %z: i32, %w: i32) kernel { gpu.return }
  }
  func.func @host(%n: i32, %x: i64, %y: f32, %handle: i64) {
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    %2 = arith.constant 2 : i32
    %3 = arith.constant 3 : i32
    %4 = arith.constant 4 : i32
    %5 = arith.constant 5 : i32
    %6 = arith.constant 6 : i32
    %7 = arith.constant 7 : i32
    %8 = arith.constant 8 : i32
    %9 = arith.constant 9 : i32
    return
  }
}
"""


class Program:
    """A host function with constants to launch with, `numbers[n]` being n, and its arguments."""

    def __init__(self) -> None:
        ir = bindings.mlir()
        with ir.Context():
            self.module = ir.Module.parse(HOST)
        block = function(self.module, "host").regions[0].blocks[0]
        *constants, end = block.operations
        self.numbers = [constant.results[0] for constant in constants]
        self.arguments = list(block.arguments)[1:3]
        self.handle = block.arguments[3]
        self.builder = Builder(self.module.context)
        self.builder.insertion = ir.InsertionPoint(end)

    def launch(self, **changed: Any) -> Launch:
        facts: dict[str, Any] = {
            "grid": self.numbers[1:4],
            "block": self.numbers[4:7],
            "cluster": [],
            "shared_bytes": self.numbers[7],
            "arguments": self.arguments,
            "queue": [],
            "events": [],
            "cooperative": False,
            "overlapping": False,
        }
        operands, attributes = launch_parts(self.builder, "@kernels::@k", **{**facts, **changed})
        self.builder.operation(LAUNCH, operands, (), attributes, location=self.builder.unknown)
        verify(self.module)
        (found,) = launches(self.module)
        return found


def test_every_operand_has_its_name() -> None:
    program = Program()
    numbers = program.numbers
    launch = program.launch()
    assert launch.kernel == "k"
    assert launch.grid == tuple(numbers[1:4])
    assert launch.block == tuple(numbers[4:7])
    assert launch.cluster == ()
    assert launch.shared_bytes == numbers[7]
    assert launch.arguments == tuple(program.arguments)
    assert launch.queue is None
    assert not launch.streamed
    assert launch.values == (*numbers[1:8], *program.arguments)
    assert [launch.cooperative, launch.overlapping, launch.events] == [False, False, ()]


def test_clusters_and_streams_move_nothing_else() -> None:
    program = Program()
    numbers = program.numbers
    launch = program.launch(cluster=numbers[1:4], queue=[program.handle])
    assert launch.block == tuple(numbers[4:7])
    assert launch.cluster == tuple(numbers[1:4])
    assert launch.shared_bytes == numbers[7]
    assert launch.arguments == tuple(program.arguments)
    assert launch.queue == program.handle
    assert launch.streamed


def test_kernels_may_have_no_arguments_and_launches_no_shared_memory() -> None:
    ir = bindings.mlir()
    with ir.Context():
        module = ir.Module.parse(
            HOST.replace(
                "    return\n",
                "gpu.launch_func @kernels::@other blocks in (%1, %2, %3) threads in (%4, %5, %6) : i32\n    return\n",
            )
        )
    (launch,) = launches(module)
    assert (launch.kernel, launch.shared_bytes, launch.arguments, launch.queue) == ("other", None, (), None)
    assert len(launch.values) == 6


@pytest.mark.parametrize("flag", ["cooperative", "overlapping"])
def test_flags(flag: str) -> None:
    program = Program()  # has the module
    launch = program.launch(**{flag: True})
    assert [name for name in ("cooperative", "overlapping") if getattr(launch, name)] == [flag]


@pytest.mark.parametrize("events", [["programmatic_event"], ["launch_completion_event"], list(EVENT_OPTIONS)])
@pytest.mark.parametrize("streamed", [False, True])
def test_events_lie_in_front_of_the_stream(events: list[str], streamed: bool) -> None:
    program = Program()
    fields = sum(1 + len(EVENT_OPTIONS[event]) for event in events) + streamed
    kind = program.builder.type(f"!llvm.struct<({', '.join(['i64'] * fields)})>")
    queue = program.builder.value("llvm.mlir.undef", (), kind, location=program.builder.unknown)
    launch = program.launch(queue=[queue], events=events)
    assert (launch.queue, launch.events, launch.streamed) == (queue, tuple(events), streamed)


def test_operands_that_are_arguments_of_the_kernel() -> None:
    program = Program()
    launch = program.launch(cluster=program.numbers[1:4], queue=[program.handle])
    places = [launch.argument_of_operand(number) for number in range(len(launch.operation.operands))]
    assert places == [*[None] * 10, 0, 1, None]


def test_more_arguments_go_after_the_ones_there_are() -> None:
    program = Program()
    numbers = program.numbers
    launch = program.launch(cluster=numbers[1:4], queue=[program.handle], cooperative=True)
    launch.operation.attributes["kernel"] = program.builder.attribute("@kernels::@more")
    more = launch.add_arguments(numbers[8:10])
    verify(program.module)
    assert launches(program.module) == [more]
    assert more.arguments == (*program.arguments, *numbers[8:10])
    assert more.cluster == tuple(numbers[1:4])
    assert more.queue == program.handle
    assert more.cooperative
