"""Kernel debugger, meta-stage: breakpoints, frames and the values that they show."""
