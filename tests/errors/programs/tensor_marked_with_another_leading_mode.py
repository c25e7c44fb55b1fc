import numpy as np

from triptych.cute.runtime import from_dlpack

tensor = from_dlpack(np.zeros((4, 8)))
tensor.mark_layout_dynamic(leading_dim=0)  # error: TT0644 at "tensor."
