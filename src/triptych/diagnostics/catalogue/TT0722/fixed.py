from triptych.workbench.measurement.benching import check_time

check_time(2e-3, floor=1e-3, why="4 MB at 4 GB/s")
