"""Meta-stage, the functions behind `cute.math`."""
