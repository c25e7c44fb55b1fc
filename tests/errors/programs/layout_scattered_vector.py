import triptych as tt
from triptych.layout import E, Layout, bank_conflicts


@tt.jit
def same(n: tt.Int32):
    bank_conflicts(Layout((32, 32), (1, 32)), Layout((8, 4), (E(0), E(1))))  # error: TT0808 at "bank_conflicts"
    return n


same(1)
