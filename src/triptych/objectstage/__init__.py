"""Compilation, the object-stage: `Traced -> Lowered -> Compiled -> Loaded`, by a target's passes and code generator."""
