"""A GEMM of Blackwell as a list of decisions, its whole-numbered data, and what must come out, by NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import triptych as tt

E4, E5, F4, E8 = tt.Float8E4M3FN, tt.Float8E5M2, tt.Float4E2M1FN, tt.Float8E8M0FNU
ARRAYS: dict[Any, Any] = {
    tt.Float16: np.float16,
    tt.BFloat16: ml_dtypes.bfloat16,
    tt.TFloat32: np.float32,
    tt.Int8: np.int8,
    tt.Uint8: np.uint8,
    E4: ml_dtypes.float8_e4m3fn,
    E5: ml_dtypes.float8_e5m2,
    F4: ml_dtypes.float4_e2m1fn,
    E8: ml_dtypes.float8_e8m0fnu,
    tt.Float32: np.float32,
    tt.Int32: np.int32,
}
KINDS: dict[str, tuple[Any, Any, Any, int]] = {
    "f16": (tt.Float16, tt.Float16, None, 0),
    "bf16": (tt.BFloat16, tt.BFloat16, None, 0),
    "tf32": (tt.TFloat32, tt.TFloat32, None, 0),
    "e4m3": (E4, E4, None, 0),
    "e5m2": (E5, E4, None, 0),
    "s8": (tt.Int8, tt.Int8, None, 0),
    "u8": (tt.Uint8, tt.Uint8, None, 0),
    "mxf8": (E4, E5, E8, 32),
    "mxf4": (F4, F4, E8, 32),
    "nvf4": (F4, F4, E4, 16),
}
"""The types of A and B, of their scales, and how many elements share one."""
CHUNK_ROWS = 128


@dataclass(frozen=True, slots=True)
class GemmProgram:
    """What a kernel of `blackwell/kernel.py` is told; `tiles` are those of the whole product in (m, n)."""

    kind: str
    ctas: int
    shape: tuple[int, int]
    cluster: tuple[int, int]
    tiles: tuple[int, int]
    steps: int
    stages: int
    sums: int
    roles: int
    schedule: str
    by_tma: bool
    result: str
    major: str
    majors: tuple[str, str]
    factor: int
    order: str

    @property
    def is_scaled(self) -> bool:
        return bool(KINDS[self.kind][3])

    @property
    def depth(self) -> int:
        """Elements of K in a stage: 128 bytes, or with scales those of a whole chunk of them."""
        a, _, _, vector = KINDS[self.kind]
        return max(1024 // int(a.width), 4 * vector)

    @property
    def extents(self) -> tuple[int, int, int]:
        (m, n), (rows, columns) = self.shape, self.tiles
        return m * rows, n * columns, self.depth * self.steps

    @property
    def sum_type(self) -> Any:
        return tt.Int32 if self.kind in ("s8", "u8") else tt.Float32

    @property
    def result_type(self) -> Any:
        return {"wide": self.sum_type, "f16": tt.Float16, "bf16": tt.BFloat16}[self.result]

    def operand(self, which: int) -> tuple[Any, Any]:
        """A or B: small numbers (rows, k), and their bytes as they lie in memory."""
        dtype, rows, depth = KINDS[self.kind][which], self.extents[which], self.extents[2]
        low = 0 if dtype is tt.Uint8 else -2
        values = np.random.default_rng(which + 1).integers(low, 3, (rows, depth)).astype(np.float32)
        codes = values.astype(ARRAYS[dtype])
        if dtype is F4:
            bits = codes.view(np.uint8)
            return values, np.ascontiguousarray(bits[:, ::2] & 15 | bits[:, 1::2] << 4)
        return values, np.ascontiguousarray(codes if self.majors[which] == "k" else codes.T)

    def scales(self, which: int) -> tuple[Any, Any]:
        """Powers of two (rows, k / vector), and their bytes: chunks of 128 rows by four scales, along k first."""
        _, _, dtype, vector = KINDS[self.kind]
        rows, count = self.extents[which], self.extents[2] // vector
        whole = -(-rows // CHUNK_ROWS) * CHUNK_ROWS
        values = 2.0 ** np.random.default_rng(which + 3).integers(0, 2, (whole, count))
        chunks = values.astype(ARRAYS[dtype]).view(np.uint8).reshape(-1, 4, 32, count // 4, 4)
        return values[:rows], np.ascontiguousarray(chunks.transpose(0, 3, 2, 1, 4)).ravel()

    def out(self) -> Any:
        m, n, _ = self.extents
        shape = (1, m, n) if self.major == "n" else (1, n, m)
        return np.full(shape, 77, ARRAYS[self.result_type])

    def expected(self) -> Any:
        """The product in the form of `out`: rounded to its type, and then multiplied there."""
        x, w = (self.operand(which)[0].astype(np.float64) for which in (0, 1))
        if vector := KINDS[self.kind][3]:
            x, w = (each * self.scales(i)[0].repeat(vector, axis=1) for i, each in enumerate((x, w)))
        dtype = np.dtype(ARRAYS[self.result_type])
        found = ((x @ w.T).astype(dtype) * dtype.type(self.factor))[None]
        return found if self.major == "n" else found.transpose(0, 2, 1)

    @property
    def source(self) -> str:
        """What distinguishes it."""
        return repr(self)
