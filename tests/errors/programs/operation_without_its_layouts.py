import triptych as tt
from triptych import cute


class Outer(cute.MmaOperation):
    a_dtype = b_dtype = acc_dtype = tt.Float32
    shape_mnk = (4, 4, 1)

    @property
    def threads(self):
        return cute.make_layout(1)

    def emit(self, product):
        pass


@tt.kernel
def products():
    cute.make_tiled_mma(Outer())  # error: TT0907 at "Outer()"


@tt.jit
def run():
    products().launch(grid=1, block=1)


run()
