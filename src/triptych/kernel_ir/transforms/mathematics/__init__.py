"""Elementary functions as branch-free vector arithmetic: one file per family, built from `Expression` expressions."""
