"""Object-stage: `Traced -> Lowered -> Compiled -> Loaded`, by the pass list and the code generator of a target."""
