"""erf of `f32` lanes: an odd polynomial near 0, and 1 - exp(-q) with a polynomial q further out."""

from __future__ import annotations

from triptych.ir.expressions import Expression, select
from triptych.targets.cpu.vector_math.binary_floats import power_of_two
from triptych.targets.cpu.vector_math.combinations import at_most, copysign, fma, polynomial
from triptych.targets.cpu.vector_math.exponentials import exp_parts

_NEAR = (1.2837917e-01, -3.7612626e-01, 1.1283579e-01, -2.6853347e-02, 5.187162e-03, -7.997853e-04, 7.806903e-05)
"""erf(x) / x - 1 in x**2 for |x| <= 1; erf(x) then has a relative error of 2**-29.4."""
_FAR = (3.205674e-04, 1.1271716e00, 6.380123e-01, 1.03218116e-01, -2.18896e-02, 2.9601068e-03, -1.8760463e-04)
"""-log(1 - erf(x)) for 1 <= x <= 4; erf(x) then has a relative error of 2**-29.7."""


def erf(x: Expression) -> Expression:
    """Beyond 4 the result is 1 in every float."""
    size = abs(x)
    near = fma(x, polynomial(x * x, _NEAR), x)
    n, significand = exp_parts(-polynomial(at_most(size, 4.0), _FAR))
    far = 1.0 - significand * power_of_two(n, x.element)
    return select(size < 1.0, near, copysign(far, x))
