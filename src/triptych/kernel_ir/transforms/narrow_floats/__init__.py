"""Floats narrower than a machine computes with: what every target makes of fp8, fp6, fp4 and TF32."""
