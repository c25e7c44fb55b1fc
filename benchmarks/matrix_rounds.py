"""Run by `benchmarks.matrix_kernels` with two threads for every system: prints the seconds of each, round by round.

python -m benchmarks.matrix_rounds [--small]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kernel_cases import FULL, NUMPY, PEERS, SMALL, Run, Sizes, case, random, register_gemm, zeros
from benchmarks.kernel_rounds import ROUNDS, THREADS, seconds
from benchmarks.opencl_peer import opencl

EXAMPLES = Path(__file__).parents[1] / "examples" / "kernels"
HEADS, DIM = 4, 64


def example(name: str) -> Any:
    """An example is found by its folder."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module(name)


def products(sizes: Sizes) -> tuple[float, dict[str, Run]]:
    """The examples, NumPy's BLAS, and the peer's product in registers, all of one size."""
    tensor_cores = example("tensor_core_gemm")
    side = sizes.side
    a, b, c = random(1, side, side), random(2, side, side), zeros(side, side)
    peer = case(*register_gemm(sizes), opencl(THREADS)).systems
    systems: dict[str, Run] = {
        "SGEMM": partial(example("sgemm").sgemm, a, b, c),
        NUMPY: partial(np.matmul, a, b, out=c),
        **{f"{name}, register-tiled": run for name, run in peer.items() if name in PEERS.values()},
    }
    for name, kind in tensor_cores.TYPES.items():
        x, w = (tensor_cores.operand_of(matrix.astype(kind)) for matrix in (a, b))
        systems[f"tensor-core GEMM {name}"] = partial(tensor_cores.gemm, x, w, c)
    hopper = example("hopper_gemm")
    halves = [matrix.astype(np.float16) for matrix in (a, b)]
    systems["warpgroup GEMM f16"] = partial(
        hopper.gemm, *map(hopper.operand_of, halves), zeros(side, side).astype("f2")
    )
    return 2e-9 * side**3, systems


def attentions(sizes: Sizes) -> tuple[float, dict[str, Run]]:
    """The example, and NumPy's products and exponentials in f32."""
    flash = example("flash_attention")
    shape = (1, sizes.side, HEADS, DIM)
    q, k, v = flash.sample(shape, sizes.side)
    o = np.empty(shape, np.float16)
    wide = [x.astype(np.float32).transpose(0, 2, 1, 3) for x in (q, k, v)]
    systems: dict[str, Run] = {
        "attention": partial(flash.attention, *map(flash.tensor_of, (q, k, v, o)), False),
        "attention, causal": partial(flash.attention, *map(flash.tensor_of, (q, k, v, o)), True),
        NUMPY: partial(_attention_by_numpy, *wide),
    }
    return 1e-9 * flash.flops(shape, sizes.side, False), systems


def _attention_by_numpy(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.transpose(0, 1, 3, 2)
    scores *= DIM**-0.5
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores @ v


def rounds_of(name: str, work: float, systems: dict[str, Run]) -> dict[str, Any]:
    load = os.getloadavg()[0]
    times: dict[str, list[float]] = {system: [] for system in systems}
    for _ in range(ROUNDS):
        for system, run in systems.items():
            times[system].append(seconds(run))
    return {"name": name, "work": work, "load": load, "seconds": times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="sizes at which the times mean nothing")
    sizes = SMALL if parser.parse_args().small else FULL
    print(json.dumps([rounds_of("product", *products(sizes)), rounds_of("attention", *attentions(sizes))]))


if __name__ == "__main__":
    main()
