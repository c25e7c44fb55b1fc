"""Narrow floats, which a machine does not compute with: what every target makes of fp8, fp6, fp4 and TF32."""
