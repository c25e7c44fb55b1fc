from functools import partial

import triptych as tt

jobs = [partial(tt.compile, function) for function in []]
tt.compile_many(jobs)
