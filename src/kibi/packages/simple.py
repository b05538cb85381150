"""Models that languages with types of their own can wrap: one arena, inputs that are written whole, one model in the library."""

from dataclasses import dataclass

from kibi.codegen import CompiledModel, Library
from kibi.errors import InputError
from kibi.ir import TensorType
from kibi.packages.golden import Golden


@dataclass(frozen=True, slots=True)
class Wrapped:
    """What a wrapper needs of a model.

    Attributes:
        model: the model.
        inputs: the types of its inputs.
        outputs: those of its outputs.
        golden: what it must give.
    """

    model: CompiledModel
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    golden: Golden


def wrapped(library: Library, golden: Golden | None, kind: str) -> Wrapped:
    """What a wrapper needs of the model of a library.

    Args:
        library: as it was generated.
        golden: what its first model must give.
        kind: of package, for errors.

    Raises:
        InputError: the library is of several models, memory or inputs are handed over in parts, or the model does not run on the
            golden inputs.
    """
    model = library.model
    graph = model.graph
    reasons = (
        (len(library.models) > 1, f"{len(library.models)} models", "Compile each into a package of its own"),
        (library.example.reads_file, "weights in slow memory", "Leave --weights read: out"),
        (bool(model.regions), "several regions of memory", "Plan without --regions"),
        (bool(model.arrivals), "inputs that arrive by the row", "Plan without --input streamed"),
        (bool(model.external), "external buffers", "Plan with all tensors stored"),
        (f"{library.name}_models.h" in library.files, "a joint plan", "Plan it alone"),
    )
    for is_so, what, remedy in reasons:
        if is_so:
            raise InputError(
                f"{graph.source}: a package of the kind {kind} holds one model that owns one arena; this library has {what}. "
                f"{remedy}, or take --package cmake."
            )
    if golden is None:
        raise InputError(
            f"{graph.source}: the model comes to no end on the golden inputs, so that a package of the kind {kind} could not check "
            "its bits. Take --package cmake."
        )
    types = [graph.tensors[index].type for index in (*graph.inputs, *graph.outputs)]
    count = len(graph.inputs)
    return Wrapped(model, tuple(types[:count]), tuple(types[count:]), golden)
