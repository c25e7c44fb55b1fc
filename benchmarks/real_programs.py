"""Kernels of public libraries: time to the first result, again with a full cache, and what `triptych check` finds.

    python -m benchmarks.real_programs --path QUACK --path ATTENTION [--only softmax] [--check] [--slow 600]

Each program is a few lines that call the library as its users do and compare with PyTorch; the folders of `--path` are
those that hold the packages. Processor seconds of the whole process count, and those of the smallest that the program
could be: `import torch` and the library's modules. `--check` runs each once more under the checkers.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """What is imported, what is computed, and the GPU that the library is told of."""

    name: str
    imports: str
    body: str
    gpu: str = "h100"


_ROWS = "x = torch.randn(64, 512, device='cuda', dtype=torch.bfloat16)\n"
_ATTENTION = """
q, k, v = (torch.randn(1, 128, heads, 64, device='cuda', dtype=torch.bfloat16) for heads in (4, 2, 2))
found = flash_attn_func(q, k, v, causal=True)[0]
wide = [t.float().transpose(1, 2) for t in (q, k.repeat_interleave(2, 2), v.repeat_interleave(2, 2))]
close(found, F.scaled_dot_product_attention(*wide, is_causal=True).transpose(1, 2))
"""
_BACKWARD = """
q, k, v = (torch.randn(1, 128, 2, 64, device='cuda', dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
upstream = torch.randn(1, 128, 2, 64, device='cuda', dtype=torch.bfloat16)
found = torch.autograd.grad(flash_attn_func(q, k, v)[0], (q, k, v), upstream)
wide = [t.detach().float().transpose(1, 2).requires_grad_() for t in (q, k, v)]
expected = torch.autograd.grad(F.scaled_dot_product_attention(*wide), wide, upstream.float().transpose(1, 2))
for one, other in zip(found, expected):
    close(one, other.transpose(1, 2))
"""
_INTERFACE = "from flash_attn.cute.interface import flash_attn_func"
PROGRAMS = (
    Program(
        "quack: softmax", "from quack.softmax import softmax", _ROWS + "close(softmax(x), F.softmax(x.float(), -1))"
    ),
    Program(
        "quack: softmax, backward",
        "from quack.softmax import softmax",
        _ROWS + "x.requires_grad_(); softmax(x).square().sum().backward()\n"
        "y = x.detach().float().requires_grad_(); F.softmax(y, -1).square().sum().backward(); close(x.grad, y.grad)",
    ),
    Program(
        "quack: rmsnorm",
        "from quack.rmsnorm import rmsnorm",
        _ROWS + "w = torch.randn(512, device='cuda')\nclose(rmsnorm(x, w), F.rms_norm(x.float(), (512,), w, 1e-6))",
    ),
    Program(
        "quack: rmsnorm, backward",
        "from quack.rmsnorm import rmsnorm",
        _ROWS + "w = torch.randn(512, device='cuda', requires_grad=True); x.requires_grad_()\n"
        "rmsnorm(x, w).square().sum().backward()\n"
        "y, u = x.detach().float().requires_grad_(), w.detach().requires_grad_()\n"
        "F.rms_norm(y, (512,), u, 1e-6).square().sum().backward(); close(x.grad, y.grad); close(w.grad, u.grad, 2e-2)",
    ),
    Program(
        "quack: layernorm",
        "from quack.rmsnorm import layernorm_fwd",
        _ROWS + "w = torch.randn(512, device='cuda')\nclose(layernorm_fwd(x, w), F.layer_norm(x.float(), (512,), w))",
    ),
    Program(
        "quack: cross entropy",
        "from quack.cross_entropy import cross_entropy",
        _ROWS + "t = torch.randint(0, 512, (64,), device='cuda')\n"
        "close(cross_entropy(x, t, reduction='none'), F.cross_entropy(x.float(), t, reduction='none'))",
    ),
    Program(
        "quack: topk",
        "from quack.topk import topk",
        _ROWS + "values, where = topk(x, 8)\nclose(values, x.float().topk(8).values)",
    ),
    Program(
        "quack: GEMM, SM90",
        "from quack.gemm_interface import gemm",
        "a, b = (torch.randn(256, 256, device='cuda', dtype=torch.bfloat16) for _ in range(2))\n"
        "close(gemm(a, b, tuned=False), a.float() @ b.float(), 5e-2)",
    ),
    Program("FlashAttention: SM90", _INTERFACE, _ATTENTION),
    Program("FlashAttention: SM90, backward", _INTERFACE, _BACKWARD),
    Program("FlashAttention: SM80", _INTERFACE, _ATTENTION, gpu="a100"),
    Program("FlashAttention: SM100", _INTERFACE, _ATTENTION, gpu="b200"),
)
_BEFORE = """
import torch
import torch.nn.functional as F


def close(found, expected, relative=1.5e-2):
    bound = relative * expected.abs().max().item()
    assert (found.float() - expected).abs().max().item() <= bound, (found.float() - expected).abs().max()


torch.manual_seed(0)
"""
_FINDING = re.compile(r"\[?(TT0\d{3})\]?")


def run(words: Sequence[str], program: Program, cache: Path, paths: Sequence[Path], slow: int) -> tuple[float, str]:
    """Processor seconds of a process and its waited-for children, and what it printed behind a failure."""
    python_path = os.pathsep.join([*map(str, paths), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": python_path, "TRIPTYCH_GPU": program.gpu}
    environment |= {"TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": str(cache)}
    environment |= {"QUACK_CACHE_ENABLED": "0"}  # its own cache of exported functions, which no checker sees
    before = os.times()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "triptych", *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=slow,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return float(slow), "slow"
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used, "" if done.returncode == 0 else done.stdout + done.stderr


def row(program: Program, paths: Sequence[Path], checks: bool, slow: int) -> str:
    """One line of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "imports.py").write_text(f"import torch\n{program.imports}\n")
        script = folder / "program.py"
        script.write_text(f"{_BEFORE}{program.imports}\n{program.body}\n")
        run(["run", str(folder / "imports.py")], program, folder / "cache", paths, slow)  # files are in memory
        bare, _ = run(["run", str(folder / "imports.py")], program, folder / "cache", paths, slow)
        first, failed = run(["run", str(script)], program, folder / "cache", paths, slow)
        again, _ = run(["run", str(script)], program, folder / "cache", paths, slow)
        cells = [program.name, f"{bare:.1f}", f"{first:.1f}", f"{again:.1f}", _last_line(failed) or "right"]
        if checks:
            seconds, found = run(["check", "--cutlass", str(script)], program, folder / "checked", paths, slow)
            codes = ", ".join(sorted(set(_FINDING.findall(found))))
            cells += [f"{seconds:.1f}", codes or _last_line(found) or "nothing"]
    return "| " + " | ".join(cells) + " |"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("triptych: ")]
    return lines[-1][:120] if lines else ""


def main() -> None:
    """Print the table, a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--slow", type=int, default=600, metavar="SECONDS")
    given = parser.parse_args()
    paths = [folder.resolve() for folder in given.path]
    print("| program | imports | first result | again | result |" + (" check | finds |" if given.check else ""))
    print("|---|---|---|---|---|" + ("---|---|" if given.check else ""))
    for program in PROGRAMS:
        if given.only in program.name:
            print(row(program, paths, given.check, given.slow), flush=True)


if __name__ == "__main__":
    main()
