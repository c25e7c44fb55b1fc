import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.kernel
def fill(x: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    if i == 3:
        breakpoint()  # error: TT0616 at "breakpoint"
    x[i] = i


@tt.jit
def run(x: cute.Tensor):
    fill(x).launch(grid=1, block=4)


with override(debug="break"):
    tt.compile(run, cute.runtime.make_fake_tensor(tt.Int32, (4,), (1,)), target="nvptx:sm_80")
