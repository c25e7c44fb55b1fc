"""A class of numbers is asked for its MLIR type where nothing is traced."""

import triptych as tt

width = tt.Int32.mlir_type  # error: TT0212 at "tt.Int32.mlir_type"
