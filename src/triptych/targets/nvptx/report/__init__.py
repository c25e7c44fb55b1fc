"""Resource usage of a compiled kernel, and what makes it slow."""
