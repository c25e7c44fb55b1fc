"""`pipeline_memory`: which accesses are of stages of a pipeline, by the state or by the calls around them."""

from __future__ import annotations

import pytest

from triptych.ir import bindings
from triptych.ir.modules import operations_named
from triptych.kernel_ir.dialects.check import CHECK
from triptych.kernel_ir.dialects.kernel_operations import walk
from triptych.targets.cpu.sanitizer.pipeline_memory import PipelineMemory

STAGE = "%{0} = llvm.load %{1} : !llvm.ptr -> i32"
ADDRESS = "%{0} = llvm.getelementptr %s[%{1}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32"
NEXT = (
    "%n0 = llvm.load %slot : !llvm.ptr -> i32\n%n1 = arith.addi %n0, %z : i32\nllvm.store %n1, %slot : i32, !llvm.ptr"
)
FOR, END = "scf.for %j = %i to %n step %i {", "}"


def call(name: str, stage: str = "z", pipeline: int = 0, kind: str = "PipelineAsync") -> str:
    numbers = f"pipeline = {pipeline} : i32, stages = 1 : i32, ring = 1 : i32, groups = 0 : i32"
    return f'"check.call"(%{stage}, %z) {{call = "{name}", kind = "{kind}", {numbers}}} : (i32, i32) -> ()'


def write(address: str = "s", value: str = "f") -> str:
    return f"llvm.store %{value}, %{address} : f32, !llvm.ptr<3>"


def pipelines_of_stores(*lines: str) -> list[list[int]]:
    """Of the stores to shared memory, in the order of the program."""
    context = bindings.mlir().Context()
    context.allow_unregistered_dialects = True
    CHECK.load(context)
    text = "\n".join(lines)
    module = bindings.mlir().Module.parse(
        f"""module {{ gpu.module @m {{ gpu.func @k(%s: !llvm.ptr<3>, %f: f32, %n: index, %b: i1) kernel {{
        %one = arith.constant 1 : i64
        %z = arith.constant 0 : i32
        %i = arith.constant 1 : index
        %slot = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
        %more = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
        {text}
        gpu.return }} }} }}""",
        context,
    )
    (kernel,) = operations_named(module, "gpu.func")
    memory = PipelineMemory(kernel)
    stores = [each for each in walk(kernel) if each.name == "llvm.store" and "ptr<3>" in str(each.operands[1].type)]
    return [memory.pipelines_of(each) for each in stores]


TAKEN, GIVEN = call("producer_acquire"), call("producer_commit")
OF_STATE = (STAGE.format("a", "slot"), call("producer_acquire", "a"), ADDRESS.format("p", "a"))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((write(), TAKEN, write(), GIVEN, write()), [[], [0], []]),  # between the calls
        ((write(), TAKEN, FOR, write(), END, GIVEN), [[], [0]]),
        ((TAKEN, write()), [[0]]),  # nobody gives it on: what follows
        ((write(), GIVEN, write()), [[0], []]),
        ((TAKEN, write(), GIVEN, call("consumer_wait"), write()), [[0], []]),  # one side is whole, and is believed
        ((call("wait"), write(), call("wait"), write(), call("arrive"), write()), [[0], [0], []]),
        ((*OF_STATE, write("p"), write(), GIVEN), [[0], []]),  # the state says more than the calls
        ((*OF_STATE, GIVEN, write("p")), [[0]]),
        ((FOR, *OF_STATE, NEXT, write("p"), END), [[0]]),
        (  # a copy of the state
            (
                *OF_STATE,
                "llvm.store %a, %more : i32, !llvm.ptr",
                STAGE.format("c", "more"),
                ADDRESS.format("q", "c"),
                write("q"),
            ),
            [[0]],
        ),
        (  # a handle that a loop hands on, and one that a branch chooses
            (
                *OF_STATE,
                "%r = scf.for %j = %i to %n step %i iter_args(%h = %a) -> (i32) {",
                ADDRESS.format("q", "h"),
                write("q"),
                "scf.yield %h : i32",
                END,
                ADDRESS.format("u", "r"),
                write("u"),
            ),
            [[0], [0]],
        ),
        (
            (
                *OF_STATE,
                "%r = scf.while (%h = %a) : (i32) -> i32 {",
                ADDRESS.format("q", "h"),
                write("q"),
                "scf.condition(%b) %h : i32",
                "} do {",
                "^bb0(%g: i32):",
                ADDRESS.format("u", "g"),
                write("u"),
                "scf.yield %g : i32",
                END,
                ADDRESS.format("w", "r"),
                write("w"),
            ),
            [[0], [0], [0]],
        ),
        (
            (
                *OF_STATE,
                "%r = scf.if %b -> (i32) {",
                "scf.yield %a : i32",
                "} else {",
                "scf.yield %z : i32",
                END,
                ADDRESS.format("q", "r"),
                write("q"),
            ),
            [[0]],
        ),
        (  # what is written there is no address
            (*OF_STATE, "%v = arith.sitofp %a : i32 to f32", write("s", "v"), write("p")),
            [[], [0]],
        ),
        (  # two pipelines, each with its own state
            (
                *OF_STATE,
                STAGE.format("c", "more"),
                call("producer_acquire", "c", 1),
                ADDRESS.format("q", "c"),
                write("p"),
                write("q"),
                write(),
            ),
            [[0], [1], []],
        ),
        ((call("producer_acquire", kind="PipelineTmaAsync"), write(), call("consumer_wait"), write()), [[0], [0]]),
        ((call("producer_acquire", kind="PipelineTmaStore"), write()), [[]]),
        ((TAKEN, write(), GIVEN, call("producer_tail"), write()), [[0], []]),
    ],
)
def test_stores(lines: tuple[str, ...], expected: list[list[int]]) -> None:
    assert pipelines_of_stores(*lines) == expected
