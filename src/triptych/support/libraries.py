"""Library code: Python's and well-known libraries', which run as they are, or what somebody ships with kernels.

One list for two questions, so that they have one answer. The meta-stage asks what to rewrite when traced code calls it;
the cache key asks what to read. What is rewritten is read, wherever it was installed: a package of kernels may be built
again without a new number, and its settings are its users' to change. What runs as it is, a version number pins.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from functools import cache
from types import FunctionType

LIBRARIES = frozenset(
    {
        # Arrays and frameworks: traced code calls them with what is known while tracing, or not at all.
        *("numpy", "scipy", "pandas", "polars", "pyarrow", "xarray", "sklearn", "sympy", "mpmath", "networkx", "cupy"),
        *("torch", "torchvision", "torchaudio", "torchgen", "functorch", "transformers", "accelerate", "safetensors"),
        *("jax", "jaxlib", "flax", "optax", "tensorflow", "keras", "onnx", "einops", "ml_dtypes"),
        # Compilers and drivers.
        *("torch_mlir", "llvmlite", "tvm_ffi", "tvm", "numba", "triton", "cuda", "nvidia", "pycuda", "cffi"),
        # What programs are made, shown, tested and installed with.
        *("attr", "attrs", "pydantic", "pydantic_core", "typing_extensions", "absl", "click", "yaml", "packaging"),
        *("matplotlib", "mpl_toolkits", "PIL", "rich", "tqdm", "IPython", "ipykernel", "traitlets", "pygments"),
        *("pytest", "_pytest", "pluggy", "hypothesis", "coverage", "mypy", "setuptools", "pkg_resources", "pip"),
        # The network.
        *("redis", "fsspec", "cryptography", "requests", "urllib3", "ray", "dask"),
    }
)
"""Packages whose functions are not written to be compiled. All others are somebody's program, installed or not."""

_STANDARD = tuple(os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib"))
_INSTALLED = ("site-packages", "dist-packages")
_FROZEN = re.compile(r"<frozen (\w+)")
_ZIPPED = f"python{sys.version_info.major}{sys.version_info.minor}.zip"


def is_library_module(name: str) -> bool:
    """Whether a module is of a package on the list."""
    return name.partition(".")[0] in LIBRARIES


def is_library_function(function: FunctionType) -> bool:
    """Whether Python or a library on the list has it; by its globals, because `functools.wraps` gives names away."""
    module = function.__globals__.get("__name__")
    name = module.partition(".")[0] if isinstance(module, str) else ""
    return name in LIBRARIES or is_standard(name, function.__code__.co_filename)


@cache
def is_standard(package: str, file: str) -> bool:
    """Whether a file is Python's own. A file of the user's may have the name of one of its modules."""
    frozen = _FROZEN.match(file)
    if frozen is not None:
        return frozen[1] in sys.stdlib_module_names
    if not os.path.isabs(file):  # as tools that freeze a program write it
        return package in sys.stdlib_module_names and not file.startswith("<")
    inside = next((file[len(folder) :] for folder in _STANDARD if file.startswith(folder)), None)
    if inside is None:
        return _ZIPPED in file.split(os.sep)
    return not inside.startswith(_INSTALLED)
