"""Kernels by the name of a list, for cores that are made before the models that they will run."""

import re
from collections.abc import Iterable, Sequence

from kibi.errors import InputError
from kibi.kernels.params import PARAMS
from kibi.targets import Target

_LISTS = {
    "all": r".*",
    "cnn-s8": (
        r"kibi_(conv2d_s8|depthwise_conv2d_s8|fully_connected_s8|(average|max)_pool2d_s8|add_s8|sub_s8|mul_s8|mean_s8|pad_s8"
        r"|softmax_s8|table_s8|copy_|concatenation|strided_copy|gather_runs_(s8|any)|quantize_(s8|u8|f32)_(s8|u8)|dequantize_s8"
        r"|maximum_s8|minimum_s8|prelu_s8|resize_bilinear_s8|transpose_conv_s8)\w*"
    ),
}
"""The kernels of each list, as a pattern of their names."""
_OF_OTHER_PROCESSORS = re.compile(r"\w+_lanes$")


def list_names() -> tuple[str, ...]:
    """The names of the lists."""
    return tuple(_LISTS)


def kernels_of(names: Iterable[str], target: Target) -> tuple[str, ...]:
    """Returns the kernels that names stand for: of a list, or of a kernel itself; sorted.

    Raises:
        InputError: there is no such list or kernel, or the target does not have the kernel.
    """
    found: set[str] = set()
    for name in names:
        kernel = name if name in PARAMS else f"kibi_{name}"
        if name in _LISTS:
            found |= {each for each in PARAMS if re.fullmatch(_LISTS[name], each) and _is_there(each, target)}
        elif kernel in PARAMS and _is_there(kernel, target):
            found.add(kernel)
        else:
            known = ", ".join((*_LISTS, *_similar(name)))
            raise InputError(
                f"{target.name} has no kernel, and there is no list of kernels, called {name!r}; there are: {known}."
            )
    return tuple(sorted(found))


def _is_there(kernel: str, target: Target) -> bool:
    """True if a kernel is for the target's processor, too: vectors of the host are not."""
    return target.is_host or not _OF_OTHER_PROCESSORS.match(kernel)


def _similar(name: str) -> Sequence[str]:
    """Kernels whose names share a part with a name that does not exist; at most ten."""
    words = [word for word in name.split("_") if word not in ("kibi", "")]
    return sorted(each for each in PARAMS if any(word in each for word in words))[:10]
