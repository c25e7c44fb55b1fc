from dataclasses import dataclass

import triptych as tt


@dataclass(frozen=True)
class Config:
    factor: int


@tt.jit
def scale(x: tt.Int32, config: tt.Constexpr):
    return x * config.factor


scale(1, Config(2))
