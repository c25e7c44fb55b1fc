import triptych as tt
from triptych import cute
from triptych.support.config import override


@tt.kernel
def fill(x: cute.Tensor):
    i = cute.arch.thread_idx()[0]

    x[i] = i


@tt.jit
def run(x: cute.Tensor):
    fill(x).launch(grid=1, block=4)


with override(break_="break_at_a_line_without_a_statement.py:9"):
    tt.compile(run, cute.runtime.make_fake_tensor(tt.Int32, (4,), (1,)), target="cpu")  # error: TT0615 at "tt.compile"
