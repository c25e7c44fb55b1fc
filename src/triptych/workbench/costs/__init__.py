"""`triptych check --costs`: what would be slow on a GPU, counted by running some blocks on the PTX simulator."""
