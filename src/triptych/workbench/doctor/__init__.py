"""What `triptych doctor` asks: what is installed, what works, and which kernels run on which hardware."""
