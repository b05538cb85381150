"""The form that each kernel has on NumPy."""

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from kibi.errors import InternalError
from kibi.kernels.params import PARAMS
from kibi.planfile.in_numpy.call import Call

Kernel = Callable[[Call], None]
_KERNELS: dict[str, Kernel] = {}


def kernel(*names: str) -> Callable[[Kernel], Kernel]:
    """Says that a function is the form of kernels.

    Raises:
        InternalError: there is no such kernel, or it has a form already.
    """

    def register(function: Kernel) -> Kernel:
        for name in names:
            if name not in PARAMS or name in _KERNELS:
                raise InternalError(f"{name} is no kernel, or has two forms on NumPy")
            _KERNELS[name] = function
        return function

    return register


def numpy_kernels(names: Iterable[str]) -> dict[str, Kernel]:
    """Returns the form of each kernel, of which there are no others than Kibi's own."""
    _load()
    return {name: _KERNELS[name] for name in names}


def names() -> frozenset[str]:
    """The kernels that have a form."""
    _load()
    return frozenset(_KERNELS)


@cache
def _load() -> None:
    """Imports all modules of kernels."""
    package = import_module("kibi.planfile.in_numpy.kernels")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
