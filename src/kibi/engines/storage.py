"""The function that reads weights from slow memory, as engines link it: it copies them from a constant."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kibi.codegen import Library
from kibi.files import temporary_folder, write_file
from kibi.planner.plan import SlowWeights
from kibi.text.c import CCode, array, code, identifier, lines


@contextmanager
def storage_sources(library: Library, given: Sequence[Path] | None = None) -> Iterator[list[Path]]:
    """Gives C files with the functions that read the weights of a library's models, for as long as the block runs.

    Args:
        library: the library.
        given: files that have these functions; None: they are made. A library whose weights are constants needs none.
    """
    if given is not None:
        yield list(given)
        return
    needed = [model for model in library.models if model.weights]
    if not needed:
        yield []
        return
    with temporary_folder() as folder:
        path = folder / "stored_weights.c"  # its name tells that its constants are weights
        texts = [_reader(model.plan.slow_weights, model.weights) for model in needed if model.plan.slow_weights]
        head = code("#include <stdint.h>\n#include <string.h>\n")
        write_file(path, (head + code("").join(texts)).text.encode())
        yield [path]


def _reader(slow: SlowWeights, weights: bytes) -> CCode:
    """The constant and the function; of two the first one copies, and the other has nothing to wait for."""
    name, *waiting = (identifier(each, "the function that reads weights") for each in slow.functions)
    wait = lines(code("int $name(void);\nint $name(void)\n{\n    return 0;\n}\n", name=each) for each in waiting)
    return wait + code(
        """
$constant
int $name(void *to, uint32_t offset, uint32_t bytes);
int $name(void *to, uint32_t offset, uint32_t bytes)
{
    if (offset > sizeof stored_for_$name || bytes > sizeof stored_for_$name - offset) {
        return 1;
    }
    memcpy(to, (const uint8_t *)(const void *)stored_for_$name + offset, bytes);
    return 0;
}
""",
        constant=array(
            code("static const uint32_t stored_for_$name[$count]", name=name, count=len(weights) // 4),
            np.frombuffer(weights, np.uint32),
        ),
        name=name,
    )
