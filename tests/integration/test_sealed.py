"""Sealed processes compile nothing, and say which line of a manifest is missing; `triptych build` makes what it has."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.integration.subprograms import run
from triptych import cute
from triptych.driver.cache_misses import SealedError
from triptych.driver.compile_many import key_of
from triptych.support.config import override
from triptych.workbench.commands.build import ManifestError, jobs_of
from triptych.workbench.commands.cli import main


@tt.jit
def mixed(n: tt.Int64, x: Any, pair: Any, mode: tt.Constexpr[Any], *, scale: Any = 1.0) -> Any:
    return n


@tt.kernel
def fill(x: cute.Tensor) -> None:
    x[0] = 1.0


@pytest.fixture(autouse=True)
def sealed(tmp_path: Path) -> Iterator[None]:
    with override(cache=True, cache_dir=str(tmp_path / "store"), sealed=True):
        yield


MATRIX = np.zeros((3, 4), np.float32)


@pytest.mark.parametrize(
    ("args", "keywords"),
    [
        ((1, MATRIX, (1, 2.5, True), "fast"), {}),
        ((1, MATRIX.T, (np.float64(1), [np.int8(2)]), (1, None, ("a", b"b"))), {"scale": 2}),
        ((tt.Int64(1), MATRIX[:, ::2], (None,), fill), {"scale": np.float16(2)}),
        ((1, np.zeros((2, 2, 2), np.complex64).real, (), tt.Float32), {}),
        ((1, tt.example("BFloat16[::1]"), ((),), len), {}),
    ],
)
def test_the_line_that_is_missing_is_the_program_that_is_missing(args: Any, keywords: Any) -> None:
    """What is told to be added has the key of what was called."""
    with pytest.raises(SealedError) as caught:
        mixed(*args, **keywords)
    error = caught.value
    line = re.search(r"`(partial\(.*\)),`", error.instead)
    assert line is not None
    if args[-1] is not len:
        assert "..." not in line[1]
        job = eval(line[1], {"partial": partial, "tt": tt, "mixed": mixed, "fill": fill, "Float32": tt.Float32})
        assert key_of(job).digest in error.found
    assert error.span is not None
    assert error.span.file == __file__
    assert "`mixed.explain_key(...)` with these arguments lists what the key is made of" in error.notes


def test_what_the_store_never_has() -> None:
    with pytest.raises(SealedError, match="that the store does not keep"):
        mixed(1, 2, 3, 4, no_cache=True)
    with override(cache=False), pytest.raises(SealedError, match="TRIPTYCH_CACHE=0"):
        mixed(1, 2, 3, 4)


KERNELS = """
import triptych as tt
from triptych import cute

@tt.kernel
def fill_kernel(x: cute.Tensor, value: tt.Constexpr):
    i = cute.arch.thread_idx()[0]
    if i < x.shape[0]:
        x[i] = value

@tt.jit
def fill(x: cute.Tensor, value: tt.Constexpr):
    fill_kernel(x, value).launch(grid=1, block=64)
"""
MANIFEST = """
from functools import partial
import triptych as tt
from filling import fill

JOBS = [partial(tt.compile, fill, tt.example("Float32[::1]"), value) for value in (1.0, "wrong")]
"""
SERVE = """
import sys
import numpy as np
from filling import fill
x = np.zeros(64, np.float32)
fill(x, float(sys.argv[1]))
print(x.sum(), "torch_mlir" in sys.modules)
"""


def test_build_then_serve(tmp_path: Path) -> None:
    for name, text in {"filling": KERNELS, "a_manifest": MANIFEST, "serve": SERVE}.items():
        (tmp_path / f"{name}.py").write_text(text)
    where = str(tmp_path / "store")
    built = run(
        *("-m", "triptych", "build", str(tmp_path / "a_manifest.py"), "--target", "cpu", "-j", "1", "--json"),
        TRIPTYCH_CACHE="1",
        TRIPTYCH_CACHE_DIR=where,
        TRIPTYCH_SEALED="1",
    )
    assert built.returncode == 1, built.stderr
    good, bad = json.loads(built.stdout)
    assert (good["name"], good["outcome"], good["error"]) == ("fill cpu", "compiled", None)
    assert bad["outcome"] == "failed"
    assert bad["error"]["span"]["file"] == str(tmp_path / "filling.py")
    assert "2/2 fill cpu: failed" in built.stderr
    for value, ends in (("1", 0), ("2", 1)):
        served = run(
            str(tmp_path / "serve.py"), value, TRIPTYCH_CACHE="1", TRIPTYCH_CACHE_DIR=where, TRIPTYCH_SEALED="1"
        )
        assert served.returncode == ends, served.stderr
    assert "partial(tt.compile, fill, tt.example('Float32[::1]'), 2.0)," in served.stderr
    assert f"{tmp_path / 'serve.py'}:6" in served.stderr


def test_what_is_no_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main(["build", str(tmp_path / "none.py")]) == 2
    assert "there is no manifest" in capsys.readouterr().err
    (tmp_path / "empty_manifest.py").write_text("")
    with pytest.raises(ManifestError, match="has no list `JOBS`"):
        jobs_of(str(tmp_path / "empty_manifest.py"))
    (tmp_path / "json.py").write_text("JOBS = []")
    with pytest.raises(ManifestError, match="the name of another module"):
        jobs_of(str(tmp_path / "json.py"))
