"""Speed of the public Blackwell attention on the CPU, beside the public Hopper attention of the same sizes, in turns.

    python -m benchmarks.public_attention FOLDER                    the folder of the public examples; needs torch
    python -m benchmarks.public_attention FOLDER --length 512 --causal

Each program runs as it is, with its own check. The first is stopped where it calls its compiled kernel, the second
runs there, and both kernels are timed where the second calls its own, while the operands of both live. Prints the CPU
seconds to compile each, and the time of Hopper's to that of Blackwell's by the best and by the median of the rounds,
in wall and in CPU time.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.public_kernels import cpu_seconds
from benchmarks.public_umma_gemm import both_clocks, module_of, seconds
from triptych.compat import activate

PROGRAMS = {
    "Hopper": "cute/hopper/kernel/attention/fmha.py",
    "Blackwell": "cute/blackwell/kernel/attention/fmha/fmha.py",
}
_OWN: dict[str, dict[str, Any]] = {
    "Hopper": {"mma_tiler_mn": (64, 128)},
    "Blackwell": {
        "mma_tiler_mn": (128, 128),
        "enable_ex2_emulation": False,
        "enable_skip_correction": False,
        "lse_calculation": False,
        "skip_softmax_threshold": None,
    },
}
"""Arguments of `run` that only one program has, or that differ."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--depth", type=int, default=128)
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    activate()
    sys.path.insert(0, str(given.folder))  # for `helpers`, which both import
    run_until_called(
        "Hopper",
        given,
        lambda hopper: run_until_called("Blackwell", given, lambda own: compare(own, hopper, given.rounds)),
    )


def run_until_called(name: str, given: argparse.Namespace, called: Callable[[Callable[[], object]], None]) -> None:
    """Run a program; where it calls its compiled kernel, `called` is given that call, which may be repeated."""
    cutlass: Any = importlib.import_module("cutlass")  # Triptych, under the name that the program imports
    cute = cutlass.cute
    compile_ = cute.compile

    def recorded(*arguments: Any, **named: Any) -> Callable[..., None]:
        started = cpu_seconds()
        function = compile_(*arguments, **named)
        print(f"{name}: compiled in {cpu_seconds() - started:.1f} CPU seconds", flush=True)
        cute.compile = compile_

        def call(*operands: Any) -> None:
            function(*operands)
            called(lambda: function(*operands))

        return call

    shape = (1, given.length, given.heads, given.depth)
    half, single = cutlass.Float16, cutlass.Float32
    types = {"in_dtype": half} if name == "Hopper" else {"qk_dtype": half, "pv_dtype": half}
    cute.compile = recorded
    try:
        module_of(given.folder / PROGRAMS[name]).run(
            q_shape=shape,
            k_shape=shape,
            out_dtype=half,
            qk_acc_dtype=single,
            pv_acc_dtype=single,
            is_persistent=False,
            is_causal=given.causal,
            bottom_right_align=False,
            scale_q=1.0,
            scale_k=1.0,
            scale_v=1.0,
            inv_scale_o=1.0,
            scale_softmax=0.0,
            window_size=(-1, -1),
            tolerance=0.1,
            warmup_iterations=0,
            iterations=1,
            skip_ref_check=False,
            **types,
            **_OWN[name],
        )
    finally:
        cute.compile = compile_


def compare(blackwell: Callable[[], object], hopper: Callable[[], object], rounds: int) -> None:
    """One line: both clocks, best and median."""
    pairs = [(seconds(blackwell), seconds(hopper)) for _ in range(rounds)]
    text = both_clocks(pairs, lambda mine, other: f"Blackwell {mine * 1e3:.1f} ms, Hopper {other * 1e3:.1f} ms")
    print(text, flush=True)


if __name__ == "__main__":
    main()
