"""What a float32 model would take as int8, before anyone has data: roughly, with ranges that are made up."""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kibi.dtypes import DType
from kibi.errors import KibiError
from kibi.frontends.model_file import read_model
from kibi.ir import Graph
from kibi.passes import simplify
from kibi.passes.constant_channels.reasons import NAME as CONSTANT_CHANNELS
from kibi.planner import Granularity, plan
from kibi.quantization.calibration import Channels
from kibi.quantization.network import Network
from kibi.quantization.quantizing import Changes, Model, Wishes
from kibi.targets import Target


@dataclass(frozen=True, slots=True)
class Outlook:
    """A float32 model as int8.

    Attributes:
        model: the path of the float32 model.
        ram_bytes: the arena and the variables; None if nothing was planned.
        weights_bytes: the constants.
    """

    model: str
    ram_bytes: int | None
    weights_bytes: int

    @property
    def line(self) -> str:
        """One line for people, with the command."""
        name = Path(self.model)
        given, output = (shlex.quote(str(each)) for each in (name, f"{name.stem}_int8.tflite"))
        ram = "" if self.ram_bytes is None else f"{self.ram_bytes:,} bytes of RAM and "
        takes = f"about {ram}{self.weights_bytes:,} bytes of weights in flash"
        return f"float32; as int8 it would take {takes}: kibi quantize {given} --data DATA -o {output}"


def outlook(model: str | os.PathLike[str], graph: Graph, processor: Target | None = None) -> Outlook | None:
    """What a model would take as int8; None if it multiplies no float32, or cannot be quantized.

    Args:
        model: the path of the model.
        graph: the same as it was loaded, or simplified.
        processor: the target of a plan by the row; None: nothing is planned.
    """
    if not any(view.op.macs(view) and view.output.type.dtype is DType.F32 for view in graph.views):
        return None
    try:
        network = Network.of(read_model(model), Path(model).name)
        seen = {index: _unit(network, index) for index in network.reals}
        # Which channels are constant depends on the ranges, which are made up.
        made = simplify(Model.of(network, seen, Wishes(), Changes(), {}).graph, [CONSTANT_CHANNELS]).graph
        planned = None if processor is None else plan(made, processor, granularity=Granularity.ROW)
    except KibiError:  # the model itself is sound: whoever quantizes it is told what is missing
        return None
    state = sum(made.tensors[index].type.size_bytes for index in made.variables)
    ram = None if planned is None else planned.arena_bytes + state
    return Outlook(os.fspath(model), ram, made.weights_bytes)


def _unit(network: Network, index: int) -> Channels:
    """What data from -1 to 1 would show."""
    shape = network.graph.tensors[index].type.shape
    ones = np.ones(shape[-1] if shape else 1)
    return Channels(0 * ones, -ones, ones)
