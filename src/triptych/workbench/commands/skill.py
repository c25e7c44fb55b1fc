"""`triptych skill install DIR`: a skill for coding assistants, with references written from the installed guides.

What an assistant reads is what people read, of the same version: guides, examples and docstrings, cut into the files
that skills for kernels have. Scripts are the commands `verify` and `bench`.
"""

from __future__ import annotations

import importlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from triptych.ir.errors import MissingPackageError
from triptych.workbench.api_entries import beginning, examples_in, kind_of, own_docstring, public_names
from triptych.workbench.installed_files import examples_folder

NAME = "triptych"
GUIDES: Mapping[str, str] = {
    "concepts-architecture": "guarantees kernels-on-the-cpu memory-model ../glossary-kernels",
    "concepts-layouts": "layouts",
    "concepts-tensors": "tensors number-types",
    "concepts-mma": "tensor-cores wgmma",
    "patterns-getting-started": "first-steps kernels from-cute-dsl from-cuda",
    "patterns-elementwise": "mathematics",
    "patterns-reduction": "",
    "patterns-gemm": "pipelined-gemm tuning",
    "patterns-memory": "tensor-arguments tma",
    "patterns-compilation": "control-flow compiled-once ahead-of-time build pytorch with-jax",
    "patterns-pipeline": "asynchronous-kernels clusters pipeline-faults hangs",
    "troubleshooting": "troubleshooting kernel-errors finding-faults without-a-gpu",
}
"""Pages of each reference, by name."""
EXAMPLES: Mapping[str, str] = {
    "patterns-elementwise": "vector_add relu elementwise_apply",
    "patterns-reduction": "warp_reduction block_reduction softmax layer_norm rms_norm",
    "patterns-gemm": "sgemm gemm tensor_core_gemm epilogues",
}
"""Programs that stand whole in a reference."""
MODULES: Mapping[str, str] = {
    "api-core": "triptych triptych.cute triptych.cute.math triptych.layout",
    "api-arch": "triptych.cute.arch",
    "api-nvgpu": " ".join(f"triptych.cute.nvgpu{part}" for part in ("", ".warp", ".warpgroup", ".cpasync")),
    "api-runtime-utils": "triptych.cute.runtime triptych.pipeline triptych.utils triptych.testing"
    " triptych.torch triptych.jax",
}
"""Modules whose public names are in a reference."""
_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#:]+)(?:#[^)\s]*)?\)")


def install_skill(folder: Path) -> str:
    """Write the skill below a folder, in the place of an older one; what was written."""
    target = folder / NAME
    documents = examples_folder().parent / "docs"
    shutil.rmtree(target / "references", ignore_errors=True)
    shutil.copytree(documents / "skill", target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "references").mkdir()
    for name in (*GUIDES, *MODULES):
        text = "\n".join(_parts(name, documents))
        (target / "references" / f"{name}.md").write_text(text, encoding="utf-8")
    return f"{target}: SKILL.md, {len(GUIDES) + len(MODULES)} references, 2 scripts"


def _parts(name: str, documents: Path) -> Iterator[str]:
    """The pages, programs and entries that one reference consists of."""
    yield f"# {name}\n"
    for page in GUIDES.get(name, "").split():
        text = (documents / "guides" / f"{page}.md").read_text(encoding="utf-8")
        yield _outside_code(text)
    for example in EXAMPLES.get(name, "").split():
        text = (examples_folder() / "kernels" / f"{example}.py").read_text(encoding="utf-8")
        yield f"## {example.replace('_', ' ').capitalize()}: a complete program\n\n```python\n{text}```\n"
    if name in MODULES:
        yield from _entries(MODULES[name].split(), documents / "site" / "examples")


def _entries(modules: Sequence[str], folder: Path) -> Iterator[str]:
    """A heading for each public name, with its docstring and its example."""
    shown = examples_in(folder)
    for name in modules:
        try:
            module = importlib.import_module(name)
        except MissingPackageError as missing:
            yield f"## {name}\n\nIt cannot be imported here: {missing.args[0]}\n"
            continue
        yield f"## {name}\n\n{beginning(folder, name)}"
        for member, value in public_names(module):
            full = f"{name}.{member}"
            parts = (f"### `{full}{kind_of(value)[1]}`", own_docstring(value), shown.get(full))
            yield "\n\n".join(filter(None, parts)) + "\n"


def _linked(link: re.Match[str]) -> str:
    """A link to a page that is in a reference leads there; other pages and pictures are not installed with a skill."""
    if link["mark"]:
        return ""
    page = Path(link["target"]).stem
    reference = next((name for name, pages in GUIDES.items() if page in pages.replace("../", "").split()), "")
    return f"[{link['text']}]({reference}.md)" if reference else link["text"]


def _outside_code(text: str) -> str:
    """The text with its links moved and its headings a level lower; blocks of code as they are."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(_linked, _lower(part)) for part in parts)


def _lower(text: str) -> str:
    return re.sub(r"^#", "##", text, flags=re.MULTILINE)
