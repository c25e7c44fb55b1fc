"""Written by `pytest tests/contracts --update-golden`, from the tables of the module beside it."""

from typing import Any, Never, TypeVar, overload

from triptych.metastage.numeric import NUMERIC_CLASSES as NUMERIC_CLASSES
from triptych.metastage.numeric import Numeric as Numeric
from triptych.metastage.numeric import lift as lift
from triptych.metastage.numeric import numeric_class as numeric_class

class Integer(Numeric): ...
class Float(Numeric): ...

_F = TypeVar("_F", bound=Float)

def dtype_named(name: str) -> type[Numeric]: ...
