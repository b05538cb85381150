"""How far each quantized layer is from ONNX Runtime, which computes it with float32: the table of docs/onnx.md."""

from pathlib import Path

import numpy as np
import pytest

from kibi.frontends.onnx import convert
from kibi.frontends.tflite import parse_tflite
from tests.frontends.onnx.elsewhere import computed_elsewhere, last_scale
from tests.frontends.onnx.running import given, run, taken
from tests.support.amount import amount
from tests.support.onnx_layers import LAYERS
from tests.support.onnx_models import Scheme, quantized

_PAGE = Path(__file__).parents[3] / "docs" / "onnx.md"
_SCHEMES = (Scheme(), Scheme(np.uint8), Scheme(np.int16))


def _stated() -> dict[str, tuple[int, ...]]:
    """The most steps that the page states for each layer: int8 and uint8, and int16."""
    rows = (
        _PAGE.read_text(encoding="utf-8").split("| layer | int8, uint8 | int16 |")[1].split("\n\n")[0].splitlines()[2:]
    )
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {name: (int(narrow), int(narrow), int(wide)) for names, narrow, wide in cells for name in names.split("; ")}


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize("layer", LAYERS)
def test_layer_is_as_many_steps_from_onnx_runtime_as_the_page_states(layer: str) -> None:
    """No element is further away, whatever the type of the activations."""
    stated = _stated()[layer]
    for scheme, most in zip(_SCHEMES, stated, strict=True):
        assert _steps(layer, scheme) <= most, scheme


def test_page_states_the_steps_of_all_layers() -> None:
    """None is missing."""
    assert set(_stated()) == set(LAYERS)


def _steps(layer: str, scheme: Scheme) -> float:
    most = 0.0
    for seed in range(amount(2, 12)):
        case = quantized(LAYERS[layer](seed), scheme)
        conversion = convert(case.model.SerializeToString(), "model.onnx")
        graph = parse_tflite(conversion.data, "model.tflite")
        names = [output.name for output in case.model.graph.output]
        (mine,) = taken(conversion, names, run(graph, given(graph, conversion, case.inputs)), [np.float32])
        (its,) = computed_elsewhere(case.model, case.inputs)
        most = max(most, float(np.rint(np.abs(mine - its) / last_scale(case.model)).max()))
    return most
