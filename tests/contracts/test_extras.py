"""An extra of the package is there because something uses what it brings."""

from __future__ import annotations

import re
import tomllib

from tests.contracts.tree import ROOT, package_files

NAMED_IN_THE_SOURCE = {
    "cuda-bindings": '"cuda.bindings',
    "cuda-pathfinder": '"cuda.pathfinder"',
    "nvidia-nvjitlink": "nvjitlink",
    "nvidia-nvvm": "libdevice",
    "nvidia-cuda-nvcc": '"ptxas"',
    "nvidia-cuda-nvdisasm": '"nvdisasm"',
    "intel-opencl-rt": '"libintelocl.so"',
    "intel-cmplr-lib-rt": '"libintelocl.so"',  # a library of the one above, which does not say so
    "torch": "import torch\n",
    "jax": "import jax as jax\n",
    "redis": '"redis"',
    "fsspec": '"fsspec.core"',
    "cryptography": '"cryptography.',
    "ray": '"ray"',
    "matplotlib": '"matplotlib',
    "rich": '"rich.progress"',
    "furo": '"furo"',
    "myst-nb": '"myst_nb"',
    "sphinx": "from sphinx.",
    "sphinx-copybutton": '"sphinx_copybutton"',
    "sphinx-design": '"sphinx_design"',
}
"""Of each package, the text by which the source, or that of the site, uses it."""


def test_every_optional_package_is_used() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    packages = {re.split(r"[<>=;\[ ]", line)[0] for name, lines in extras.items() if name != "dev" for line in lines}
    assert packages == set(NAMED_IN_THE_SOURCE)
    files = [*package_files(), *sorted((ROOT / "docs").rglob("*.py"))]
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    assert [package for package, text in NAMED_IN_THE_SOURCE.items() if text not in source] == []
