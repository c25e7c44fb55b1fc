# pip install 'triptych[cuda,cuda-tools]'
import triptych as tt
from triptych import cute


@tt.kernel
def count(total: cute.Tensor):
    with cute.arch.elect_one():
        total[0] = 1


@tt.jit
def f(total: cute.Tensor):
    count(total).launch(grid=1, block=32)


tt.compile(f, cute.runtime.make_fake_tensor(tt.Int32, (1,), (1,)), target="nvptx:sm_90a")
