"""Diagnosis by `triptych doctor`: what is installed, what works, and which kernels run on which hardware."""
