"""AMD's runtime, and kernels loaded into it."""
