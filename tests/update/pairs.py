"""Pairs of versions of a model: the plan files between which the devices of tests are updated."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np

import kibi
from kibi import demo
from kibi.ir import Graph
from kibi.passes import simplify
from kibi.planfile.like import layout_of, written_like
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import written_file
from kibi.planner import validate
from tests.support import zoo
from tests.update.packages import file_of

Pair = tuple[PlanFile, PlanFile]
_LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def perturbed(graph: Graph, seed: int, share: float = 0.3) -> Graph:
    """A later version of a model, as after training further: a share of its 8-bit weights is -2 to 2 away from the old ones."""
    rng, tensors = np.random.default_rng(seed), list(graph.tensors)
    for index in sorted({view.node.inputs[1] or 0 for view in graph.views if view.op.name in _LAYERS}):
        data = tensors[index].data
        if data is not None and data.dtype == np.int8:
            moved = np.where(rng.random(data.shape) < share, rng.choice((-2, -1, 1, 2), data.shape), 0)
            tensors[index] = replace(
                tensors[index], data=np.clip(data.astype(np.int16) + moved, -127, 127).astype(np.int8)
            )
    return replace(graph, tensors=tuple(tensors))


def versions(graph: Graph, seed: int = 0) -> Pair:
    """The plan files of a model and of a later version with its layout, for this machine."""
    simplified = simplify(graph)
    planned = validate(simplified.graph, kibi.plan(simplified.graph, target="host"))
    file = written_file(planned)
    later = written_like(perturbed(graph, seed), layout_of(planned, simplified, file))
    assert later.departures == ()
    assert later.data != file.data
    return PlanFile(file.data), PlanFile(later.data)


def _small(number: int, *shape: int) -> Pair:
    return file_of(2 * number, *shape), file_of(2 * number + 1, *shape)


def _grown() -> Pair:
    """Versions of different sizes."""
    return file_of(20, 3, 3, 1), file_of(21, 5, 4, 3)


def _glyphs() -> Pair:
    return versions(kibi.load(demo.model_path()))


def _of_zoo(name: str) -> Pair:
    return versions(kibi.load(zoo.catalog()[name].path))


def _other_model() -> Pair:
    """A model, and another one in its place: next to nothing of the file stays."""
    return _of_zoo("tflm_hello_int8")[0], _of_zoo("emlearn_mnist_cnn_int8")[0]


PAIRS: Mapping[str, Callable[[], Pair]] = MappingProxyType(
    {
        "4 x 3 x 2": partial(_small, 0, 4, 3, 2),
        "5 x 4 x 3": partial(_small, 1, 5, 4, 3),
        "3 x 3 x 1": partial(_small, 2, 3, 3, 1),
        "grown": _grown,
        "glyphs": _glyphs,
        "hello": partial(_of_zoo, "tflm_hello_int8"),
        "mnist": partial(_of_zoo, "emlearn_mnist_cnn_int8"),
        "other model": _other_model,
        "micro speech": partial(_of_zoo, "tflm_micro_speech"),
        "key words": partial(_of_zoo, "mlperf_kws_int8"),
    }
)
"""Ten pairs by name: small graphs, the demo model, and models of the zoo, which must be there for some of them."""
