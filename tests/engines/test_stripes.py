"""Stages in stripes, in every engine; and what they save of real models."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

import kibi
from kibi.dtypes import DType
from kibi.engines import DeviceEngine, HostEngine
from kibi.engines.plan_numpy import NumpyPlanEngine
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ir import Graph
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import Granularity, Plan, PlannedModel, plan, validate
from kibi.planner.plan import Stripes
from kibi.planner.stripes import stage_problem
from kibi.reports.recomputation import work_factor
from kibi.runtime import seeded_inputs
from kibi.targets import target
from tests.docs.documents import ROOT
from tests.support import zoo
from tests.support.amount import IS_EXHAUSTIVE, amount
from tests.support.choices import Choices, Seeded, elements
from tests.support.mobilenet_models import Shape, mobilenet_v2


def _image_network(c: Choices) -> Graph:
    """A small network of images: windows with strides 1 and 2, SAME and VALID, of odd and even widths, and a residual addition."""
    builder = ModelBuilder()
    shape = (1, c.integer(7, 12), c.integer(7, 15), c.one_of((1, 3, 4)))
    tensor = builder.input(shape, DType.S8, 0.05, 3)

    def window(
        name: str, source: int, shape: Shape, outputs: int, kernel: int, stride: int, padding: str
    ) -> tuple[int, Shape]:
        sizes = [-(-size // stride) if padding == "SAME" else (size - kernel) // stride + 1 for size in shape[1:3]]
        made = (1, sizes[0], sizes[1], outputs)
        deep = (1, kernel, kernel, outputs) if name == "DEPTHWISE_CONV_2D" else (outputs, kernel, kernel, shape[3])
        filters = builder.constant(elements(c, deep), 0.01, 0)
        output = builder.tensor(made, DType.S8, 0.08, c.integer(-20, 20))
        further: dict[str, Attribute] = {"depth_multiplier": outputs // shape[3]} if name == "DEPTHWISE_CONV_2D" else {}
        attributes: dict[str, Attribute] = {"padding": padding, "stride_h": stride, "stride_w": stride, **further}
        builder.operator(name, [source, filters], [output], attributes)
        return output, made

    def drawn_padding() -> str:
        return c.one_of(("SAME", "VALID"))

    channels = c.one_of((4, 6, 8))
    tensor, shape = window("CONV_2D", tensor, shape, channels, 3, c.one_of((1, 2)), drawn_padding())
    tensor, shape = window("DEPTHWISE_CONV_2D", tensor, shape, channels, 3, 1, "SAME")
    skip = tensor
    tensor, shape = window("CONV_2D", tensor, shape, 2 * channels, 1, 1, "VALID")
    tensor, shape = window("DEPTHWISE_CONV_2D", tensor, shape, 2 * channels, 3, 1, "SAME")
    tensor, shape = window("CONV_2D", tensor, shape, channels, 1, 1, "VALID")
    added = builder.tensor(shape, DType.S8, 0.1, 5)
    builder.operator("ADD", [skip, tensor], [added], {})
    tensor, shape = window("DEPTHWISE_CONV_2D", added, shape, channels, 2, 2, drawn_padding())
    tensor, shape = window("CONV_2D", tensor, shape, 5, 1, 1, "SAME")
    return parse_tflite(builder.finish([tensor]), "images.tflite")


def _striped_plans(seed: int, granularity: Granularity) -> Iterator[tuple[Graph, Plan]]:
    """Plans of a drawn network, with stages that begin at its input and later, in two stripes and in three."""
    model = _image_network(Seeded(seed))
    for begin, end in ((0, 6), (0, 7), (1, 7), (2, 6)):
        width = model.tensors[model.nodes[end - 1].outputs[0]].type.shape[2]
        for columns in ((width // 2,), (width // 3, width // 3 + 1)):
            stage = Stripes(begin, end, columns)
            if not stage_problem(model, stage):
                yield model, plan(model, target("cortex-m4"), granularity=granularity, stripes=[stage])


def test_plan_files_in_stripes_give_the_same_bits() -> None:
    """The machine that reads plan files with NumPy kernels checks each access against the contracts of the kernels."""
    granularity = Granularity.ROW if IS_EXHAUSTIVE else Granularity.TENSOR  # orders by the row take their time
    found = [each for seed in range(amount(1, 40)) for each in islice(_striped_plans(seed, granularity), amount(3, 8))]
    assert found
    for model, made in found:
        validate(model, made)
        inputs = seeded_inputs(model, 1)
        engine = NumpyPlanEngine(PlanFile(plan_file(PlannedModel.of(model, made))))
        assert (
            engine.run(inputs)[0].tobytes()
            == kibi.run(model, kibi.plan(model, granularity="tensor"), inputs)[0].tobytes()
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(amount(3, 20)))
def test_c_here_and_on_the_device_gives_the_same_bits(seed: int, tmp_path: Path) -> None:
    """Generated C of drawn networks: on this machine, and on the emulated Cortex-M4, where each access is checked."""
    for number, (model, made) in enumerate(list(islice(_striped_plans(seed, Granularity.ROW), 3))):
        inputs = seeded_inputs(model, seed)
        wanted = kibi.run(model, kibi.plan(model, granularity="tensor"), inputs)[0].tobytes()
        library = kibi.compile(model, made, tmp_path / str(number))
        assert HostEngine(library).run(inputs)[0].tobytes() == wanted
        assert DeviceEngine(library).run(inputs)[0].tobytes() == wanted


def _published() -> list[tuple[str, ...]]:
    """The rows of the page's table: network, input, arena by the row and in stripes, factor, its limit."""
    text = (ROOT / "docs" / "memory-by-the-row.md").read_text(encoding="utf-8")
    lines = text.split("<!-- stripes: begin -->")[1].split("<!-- stripes: end -->")[0].strip().splitlines()[2:]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]


@pytest.mark.slow
@zoo.requires_zoo
@pytest.mark.parametrize("row", _published(), ids=lambda row: row[0])
def test_real_models_need_what_the_page_says_and_keep_their_bits(row: tuple[str, ...], tmp_path: Path) -> None:
    """The arenas and factors of docs/memory-by-the-row.md; the bits, in C here and on the emulated core."""
    name, mode, by_row, in_stripes, factor, limit = row
    is_built = name.startswith("MobileNetV2")
    model = (
        parse_tflite(mobilenet_v2(0.35, 144), "mobilenet_v2.tflite") if is_built else kibi.load(zoo.model_path(name))
    )
    model = kibi.simplify(model)
    usual, made = kibi.plan(model, input=mode), kibi.plan(model, input=mode, recompute=float(limit))
    told = f"{usual.arena_bytes:,}", f"{made.arena_bytes:,}", f"{work_factor(validate(model, made)):.3f}"
    assert told == (by_row, in_stripes, factor)
    inputs = seeded_inputs(model, 0)
    wanted = [each.tobytes() for each in kibi.run(model, kibi.plan(model, granularity="tensor"), inputs)]
    library = kibi.compile(model, made, tmp_path)
    assert [each.tobytes() for each in HostEngine(library).run(inputs)] == wanted
    assert [each.tobytes() for each in DeviceEngine(library).run(inputs)] == wanted


@pytest.mark.slow
def test_tuned_kernels_run_the_stages_that_they_were_counted_for() -> None:
    """The plan with what `tune` chose has the same stages, and gives the same bits."""
    model = _image_network(Seeded(3))
    made = kibi.plan(model, input="external", recompute=1.3)
    assert made.stripes
    tuned = kibi.plan(model, input="external", stripes=made.stripes, tuning=kibi.tune(model, made))
    assert tuned.stripes == made.stripes
    inputs = seeded_inputs(model, 0)
    assert kibi.run(model, tuned, inputs)[0].tobytes() == kibi.run(model, made, inputs)[0].tobytes()
