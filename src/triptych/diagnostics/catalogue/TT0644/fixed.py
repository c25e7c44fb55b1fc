import numpy as np

from triptych.cute.runtime import from_dlpack

from_dlpack(np.zeros((4, 8))).mark_layout_dynamic(leading_dim=1)
