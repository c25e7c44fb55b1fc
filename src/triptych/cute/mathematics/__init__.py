"""The functions behind `cute.math`."""
