"""Custom operators: registered by a call or an entry point, used in models, by hand, in Python, in C and on the device."""

import json
import os
import random
import subprocess
import sys
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from flatbuffers import flexbuffers

import kibi
from kibi import ops
from kibi.dtypes import Array, DType
from kibi.eager.operators import bind
from kibi.eager.tensors import BufferTensor, CameraTensor
from kibi.engines import DeviceEngine, HostEngine
from kibi.errors import InputError, InternalError, ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph, Operator, OperatorError
from kibi.kernels import find
from kibi.kernels.headers import struct_fields
from kibi.ops import CustomOptions, is_custom
from kibi.ops.custom.flexbuffer import read_flexbuffer
from tests.support.tflite_builder import ModelBuilder

_EXAMPLE = Path(__file__).parents[2] / "examples" / "custom_operator"
_KERNELS = _EXAMPLE / "kibi_motion"
_CODE = "FRAME_DIFFERENCE"


def _example() -> types.ModuleType:
    """The example's module; not imported by its name, which only a distribution gives it."""
    module = types.ModuleType("frame_difference_of_the_example")
    module.__file__ = str(_KERNELS / "frame_difference.py")
    sys.modules[module.__name__] = module
    exec(compile((_KERNELS / "frame_difference.py").read_text(), module.__file__, "exec"), vars(module))  # noqa: S102 - the project's own example
    return module


FrameDifference: type[Any] = _example().FrameDifference


@pytest.fixture(autouse=True)
def _nothing_stays_registered() -> Iterator[None]:
    """Each test begins and ends without custom operators."""
    yield
    for code in list(ops.registry._CUSTOM):  # without loading what a test broke
        ops.unregister_custom(code)


@pytest.fixture
def _registered() -> None:
    ops.register_custom(_CODE, FrameDifference, kernels=_KERNELS)


def _model(options: bytes | None = None, *, code: str = _CODE, shape: Sequence[int] = (1, 6, 5, 3)) -> bytes:
    """A difference of two inputs, and a pooling of it."""
    builder = ModelBuilder()
    inputs = [builder.input(shape, DType.S8, 0.5, -3, name=name) for name in ("frame", "background")]
    difference = builder.tensor(shape, DType.S8, 0.5, -128)
    pooled = builder.tensor([1, shape[1] // 2, shape[2] // 2, shape[3]], DType.S8, 0.5, -128)
    builder.operator("CUSTOM", inputs, [difference], custom_code=code, custom_options=options)
    sizes = {"filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2}
    builder.operator("MAX_POOL_2D", [difference], [pooled], {**sizes, "padding": "VALID"})
    return builder.finish([pooled])


def _flex(value: object) -> bytes:
    return bytes(flexbuffers.Dumps(value))


def _graph(options: bytes | None = None, **more: Any) -> Graph:
    return parse_tflite(_model(options, **more), "motion.tflite")


def _problem(options: bytes | None = None) -> str:
    with pytest.raises(ModelError) as caught:
        _graph(options)
    return str(caught.value)


def _inputs(graph: Graph, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    kinds = [graph.tensors[index].type for index in graph.inputs]
    return [rng.integers(-128, 128, kind.shape).astype(np.int8) for kind in kinds]


def _expected(inputs: Sequence[Array], threshold: int) -> Array:
    """The definition, once more and in another way."""
    distance = np.abs(inputs[0].astype(np.int64) - inputs[1].astype(np.int64))
    moved = np.clip(np.where(distance > threshold, distance, 0) - 128, -128, 127).astype(np.int8)
    _, height, width, channels = moved.shape
    even = moved[:, : height // 2 * 2, : width // 2 * 2]
    pooled: Array = even.reshape(1, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))
    return pooled


@pytest.mark.usefixtures("_registered")
@pytest.mark.parametrize("granularity", ["row", "tensor"])
def test_custom_operator_gives_the_same_bits_in_python_in_c_and_on_the_device(granularity: str, tmp_path: Path) -> None:
    """A model with one runs in all engines, under both kinds of plan."""
    graph = _graph(_flex({"threshold": 40}))
    inputs = _inputs(graph)
    plan = kibi.plan(graph, granularity=granularity)
    wanted = _expected(inputs, 40)
    assert (kibi.run(graph, plan, inputs)[0] == wanted).all()
    host = kibi.compile(graph, kibi.plan(graph, "host", granularity=granularity), tmp_path / "host", target="host")
    assert (HostEngine(host).run(inputs)[0] == wanted).all()
    library = kibi.compile(graph, plan, tmp_path / "device")
    assert "kernels/kibi_frame_difference_s8.c" in library.files
    assert (DeviceEngine(library).run(inputs)[0] == wanted).all()


@pytest.mark.usefixtures("_registered")
def test_custom_operator_takes_rows_as_they_arrive(tmp_path: Path) -> None:
    """Streaming needs no more of a custom operator than of another."""
    graph = _graph(_flex({"threshold": 3}))
    inputs = _inputs(graph, 1)
    library = kibi.compile(graph, kibi.plan(graph, "host", input="streamed"), tmp_path, target="host")
    assert (HostEngine(library).run(inputs)[0] == _expected(inputs, 3)).all()


@pytest.mark.usefixtures("_registered")
def test_measurement_and_verification_leave_tflm_out(tmp_path: Path) -> None:
    """TensorFlow Lite Micro does not have the operator, and is not asked."""
    path = tmp_path / "motion.tflite"
    path.write_bytes(_model(_flex({"threshold": 3})))
    graph = kibi.load(path)
    found = kibi.measure(kibi.compile(graph, None, tmp_path / "library"))
    assert (found.bit_exact, found.oracle) == (True, None)
    verified = kibi.verify(graph, target="host", runs=1)
    assert verified.is_exact
    assert "tflm: it does not have the custom operators FRAME_DIFFERENCE" in verified.skipped
    assert [is_custom(node.op) for node in graph.nodes] == [True, False]


def test_custom_operator_works_by_hand() -> None:
    """It needs no registration to be bound to tensors, such as a camera's rows."""
    kind = _graph_type()
    frame, background = (np.random.default_rng(seed).integers(-128, 128, kind.shape).astype(np.int8) for seed in (1, 2))
    camera = CameraTensor(kind, iter(frame[0]))
    seen, output = (BufferTensor(kind, bytearray(kind.size_bytes)) for _ in range(2))
    seen.assign(background)
    bind(FrameDifference(threshold=9), output=output, background=seen, frame=camera).eval()
    distance = np.abs(frame.astype(int) - background)
    assert (output.to_array() == np.minimum(np.where(distance > 9, distance, 0) - 3, 127)).all()


def _graph_type() -> Any:
    ops.register_custom(_CODE, FrameDifference)
    return _graph().tensors[0].type


@pytest.mark.usefixtures("_registered")
def test_options_become_attributes() -> None:
    """A flexbuffer map gives attributes by name; what a model leaves out has its default."""
    assert _graph(_flex({"threshold": 7})).nodes[0].op == FrameDifference(threshold=7)
    assert _graph(_flex({})).nodes[0].op == _graph().nodes[0].op == FrameDifference(threshold=0)
    assert "its options have gain, but its attributes are: threshold" in _problem(_flex({"gain": 2}))
    assert "not a map" in _problem(_flex([1, 2]))
    assert "its options are no sound flexbuffer" in _problem(b"\xff\xff\xff\xff")
    assert "threshold is 256, but must be 0 to 255" in _problem(_flex({"threshold": 256}))


@dataclass(frozen=True, slots=True)
class _Tuned(ops.Relu):
    """An operator with attributes of every type that options can give."""

    name: ClassVar[str] = "TUNED"

    count: int = 1
    factor: float = 1.0
    is_on: bool = False
    label: str = ""
    padding: ops.Padding = ops.Padding.VALID
    stride: tuple[int, int] = (1, 1)
    taps: tuple[float, ...] = ()


def _tuned(**options: Any) -> Operator:
    return ops.CustomOperator(_Tuned).make(CustomOptions(_flex(options)))


def test_options_of_every_type_become_attributes() -> None:
    """Numbers, truth values, texts, enumerators and tuples arrive as what the class says."""
    made = _tuned(count=3, factor=2, is_on=1, label="x", padding="SAME", stride=[2, 3], taps=[1.5, 2.5, 3.5])
    assert made == _Tuned(3, 2.0, True, "x", ops.Padding.SAME, (2, 3), (1.5, 2.5, 3.5))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"count": "many"}, "its option count is 'many', but int is required"),
        ({"count": True}, "its option count is True, but int is required"),
        ({"factor": None}, "its option factor is None, but float is required"),
        ({"is_on": 2}, "its option is_on is 2, but bool is required"),
        ({"label": 1}, "its option label is 1, but str is required"),
        ({"padding": "FULL"}, "its option padding is 'FULL', but Padding is required"),
        ({"stride": [1, 2, 3]}, "its option stride is (1, 2, 3), but tuple[int, int] is required"),
        ({"taps": {"a": 1}}, "its option taps is {'a': 1}, but tuple[float, ...] is required"),
    ],
)
def test_options_of_another_type_are_refused(options: dict[str, Any], text: str) -> None:
    """A model cannot give an attribute a value that the class does not expect."""
    with pytest.raises(OperatorError) as caught:
        _tuned(**options)
    assert str(caught.value) == text


def test_importer_reads_options_of_any_form() -> None:
    """An importer has the raw bytes; what it refuses, and what it breaks at, is a problem of the model."""

    def read(options: CustomOptions) -> Operator:
        if len(options.data) > 1:
            raise OperatorError(f"{len(options.data)} bytes of options", "Give one")
        return FrameDifference(threshold=options.data[0])  # type: ignore[no-any-return]  # the example is not imported by name

    ops.register_custom(_CODE, FrameDifference, importer=read)
    assert _graph(b"\x05").nodes[0].op == FrameDifference(threshold=5)
    assert "operator 0: CUSTOM:FRAME_DIFFERENCE: 2 bytes of options. Give one." in _problem(b"ab")
    assert "the importer failed: IndexError: index out of range" in _problem(b"")


def test_importer_that_gives_something_else_is_told() -> None:
    """An importer gives the registered class."""
    ops.register_custom(_CODE, FrameDifference, importer=lambda _: ops.Relu())
    assert "which is no FrameDifference" in _problem()


def test_unknown_custom_operator_says_how_to_register_one() -> None:
    """The error names the code, and what to call."""
    text = _problem()
    assert "operator 0: CUSTOM:FRAME_DIFFERENCE is not supported. `kibi operators` lists those that are. " in text
    assert "Register it with kibi.ops.register_custom('FRAME_DIFFERENCE', …)" in text


def test_operator_without_kernel_runs_in_python_alone(tmp_path: Path) -> None:
    """Without C files a model plans and runs; compiling it names the kernel that is missing."""
    ops.register_custom(_CODE, FrameDifference)
    graph = _graph()
    inputs = _inputs(graph)
    assert (kibi.run(graph, None, inputs)[0] == _expected(inputs, 0)).all()
    with pytest.raises(InputError, match="needs the C kernel kibi_frame_difference_s8, and there is none"):
        kibi.compile(graph, None, tmp_path)


def test_header_with_other_fields_than_the_parameters_is_refused(tmp_path: Path) -> None:
    """A struct whose fields have changed places is told when a model is compiled, with both lists of fields."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    header = (_KERNELS / "kibi_frame_difference_s8.h").read_text()
    swapped = header.replace("elements;", "x;").replace("threshold;", "elements;").replace("x;", "threshold;")
    (folder / "kibi_frame_difference_s8.h").write_text(swapped)
    (folder / "kibi_frame_difference_s8.c").write_text((_KERNELS / "kibi_frame_difference_s8.c").read_text())
    ops.register_custom(_CODE, FrameDifference, kernels=folder)
    text = r"_params has int32_t threshold, int32_t elements, .*FrameDifferenceParams has int32_t elements, int32_t threshold"
    with pytest.raises(InputError, match=text):
        kibi.compile(_graph(), None, tmp_path / "library")


def test_operators_of_kibi_are_not_replaced(tmp_path: Path) -> None:
    """Neither the name of an operator nor the file of a kernel can be taken."""

    @dataclass(frozen=True, slots=True)
    class Relu(ops.Relu):
        pass

    for code in ("RELU", "MY_RELU"):
        with pytest.raises(InputError, match="RELU is an operator of Kibi's own and cannot be replaced"):
            ops.register_custom(code, Relu)

    @dataclass(frozen=True, slots=True)
    class Mine(ops.Relu):
        name: ClassVar[str] = "MY_RELU"

    (tmp_path / "kibi_unary.h").write_text("nothing")
    shipped = find("kibi_unary.h", ("portable",))
    ops.register_custom("MY_RELU", Mine, kernels=tmp_path)
    assert find("kibi_unary.h", ("portable",)) == shipped
    assert list(ops.operators()) == sorted(ops.operators())
    assert "MY_RELU" not in ops.operators()


def test_name_is_taken_once_and_can_be_given_back() -> None:
    """A second registration is refused until the first is taken back."""
    ops.register_custom(_CODE, FrameDifference, kernels=_KERNELS)
    with pytest.raises(InputError, match="already registered by a call"):
        ops.register_custom(_CODE, FrameDifference)
    assert list(ops.custom_operators()) == [_CODE]
    ops.unregister_custom(_CODE)
    with pytest.raises(InputError, match=r"no custom operator is registered as 'FRAME_DIFFERENCE'\. Registered: none"):
        ops.unregister_custom(_CODE)
    with pytest.raises(InternalError, match=r"has the file kibi_frame_difference_s8\.h"):
        find("kibi_frame_difference_s8.h", ("portable",))
    ops.register_custom(_CODE, FrameDifference, kernels=str(_KERNELS))
    assert struct_fields("kibi_frame_difference_s8", ("portable",))[0].name == "elements"


def test_files_of_two_folders_do_not_clash(tmp_path: Path) -> None:
    """The same file name in two folders is refused: one library could not have both."""
    (tmp_path / "kibi_frame_difference_s8.c").touch()
    (tmp_path / "kibi_frame_difference_s8.h").write_text((_KERNELS / "kibi_frame_difference_s8.h").read_text())
    ops.register_custom(_CODE, FrameDifference, kernels=_KERNELS)
    with pytest.raises(InputError, match="both have kibi_frame_difference_s8"):
        ops.register_custom("ANOTHER", FrameDifference, kernels=tmp_path)
    assert list(ops.custom_operators()) == [_CODE]


def _varied(**facts: object) -> type[Operator]:
    """The example's operator with other facts."""
    made: type[Operator] = dataclass(frozen=True)(type("Varied", (FrameDifference,), facts))
    return made


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        (int, "is no class derived from kibi.ir.Operator"),
        (FrameDifference(), "is no class derived from kibi.ir.Operator"),
        (
            type("Empty", (Operator,), {}),
            "leaves out accesses, infer, kernel_call, reference, name, inputs, kernels, types",
        ),
        (type("Plain", (FrameDifference,), {}), "is no frozen dataclass"),
        (_varied(name="my op"), "'my op' is no C identifier"),
        (_varied(outputs=("first", "second")), "one, named 'output', is supported"),
        (_varied(row_inputs=("frame", "other")), "Name at least one input"),
        (_varied(kernels=("my_kernel",)), "Name it kibi_<operator>_<type>"),
        (_varied(kernels=("kibi_other_s8",)), "there is no file"),
        (_varied(kernels=("kibi_bare_s8",)), "must define kibi_bare_s8_params"),
    ],
)
def test_class_that_is_not_as_it_must_be_is_refused_at_once(operator: Any, text: str, tmp_path: Path) -> None:
    """What is missing or wrong is told when it is registered, not when a model is compiled."""
    (tmp_path / "kibi_bare_s8.c").touch()
    (tmp_path / "kibi_bare_s8.h").write_text("void kibi_bare_s8(void);\n")
    with pytest.raises(InputError, match=r"custom operator 'NAME': ") as caught:
        ops.register_custom("NAME", operator, kernels=tmp_path)
    assert text in str(caught.value)


def test_kernels_lie_in_a_folder(tmp_path: Path) -> None:
    """A path that is no folder is told apart from one without files."""
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is no folder"):
        ops.register_custom(_CODE, _varied(kernels=()), kernels=tmp_path / "file")


def _distribution(folder: Path, name: str, code: str, value: str) -> None:
    """What `pip install` leaves of a distribution with one entry point."""
    record = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text(f"[kibi.operators]\n{code} = {value}\n")


def _python(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A new process in which those distributions and the example's package are installed."""
    paths = os.pathsep.join([str(folder), str(_EXAMPLE)])
    environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "300"}
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)


def test_installed_distribution_adds_its_operator(tmp_path: Path) -> None:
    """An entry point is enough: models with the code load, and `kibi operators` lists it with where it is from."""
    _distribution(tmp_path, "kibi-motion", _CODE, "kibi_motion.frame_difference:FRAME_DIFFERENCE")
    model = tmp_path / "motion.tflite"
    model.write_bytes(_model(_flex({"threshold": 7})))
    listed = _python(tmp_path, "-m", "kibi", "operators")
    assert "FRAME_DIFFERENCE" in listed.stdout
    assert "distribution kibi-motion 1.0" in listed.stdout
    record = json.loads(_python(tmp_path, "-m", "kibi", "operators", "--json").stdout)
    (custom,) = record["custom_operators"]
    assert (custom["name"], custom["kernels"]) == (_CODE, ["kibi_frame_difference_s8"])
    assert len(record["operators"]) == len(ops.operators())
    code = f"import kibi, sys; kibi.load({str(model)!r}); print('kibi_motion.frame_difference' in sys.modules)"
    assert _python(tmp_path, "-c", code).stdout == "True\n"


def test_distributions_are_not_imported_before_they_are_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A broken distribution harms no model that does without it, and is named by one that needs it."""
    _distribution(tmp_path, "kibi-broken", "BROKEN", "kibi_broken_module:Operator")
    _distribution(tmp_path, "kibi-strange", "STRANGE", "json:dumps")
    (tmp_path / "kibi_broken_module.py").write_text("raise RuntimeError('no licence')\n")
    monkeypatch.syspath_prepend(tmp_path)
    ops.register_custom(_CODE, FrameDifference)
    _graph()
    with pytest.raises(ModelError) as caught:
        _graph(code="BROKEN")
    assert "CUSTOM:BROKEN: custom operator 'BROKEN' of distribution kibi-broken 1.0 cannot be loaded" in str(
        caught.value
    )
    assert "RuntimeError: no licence. Update or uninstall it." in str(caught.value)
    with pytest.raises(ModelError, match=r"'STRANGE' of distribution kibi-strange 1.0: .* is no class derived from"):
        _graph(code="STRANGE")
    with pytest.raises(InputError, match=r"distribution kibi-broken 1\.0"):
        ops.custom_operators()


def test_two_distributions_with_one_code_are_both_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Which of them would win must not depend on the order of folders."""
    for name in ("first", "second"):
        _distribution(tmp_path / name, f"kibi-{name}", "SHARED", f"{name}:Operator")
        monkeypatch.syspath_prepend(tmp_path / name)
    with pytest.raises(
        InputError, match=r"given by distribution kibi-first 1.0 .* and by distribution kibi-second 1.0"
    ):
        ops.custom_operators()


_VALUES: tuple[Any, ...] = (
    None,
    True,
    -5,
    1 << 40,
    0.1,
    "text",
    b"blob",
    [1, 2, 3],
    [1.5, 2.5],
    [True, False],
    ["a", "b"],
    [1, "two", None, [3.0]],
    [],
    {},
    {"threshold": 7, "scale": 0.25, "name": "x", "axes": [1, 2], "inner": {"deep": [True]}, "long": list(range(300))},
)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return tuple(map(_plain, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("value", _VALUES, ids=repr)
def test_flexbuffers_are_read_as_they_were_written(value: object) -> None:
    """What Google's writer writes comes back, vectors as tuples."""
    assert read_flexbuffer(_flex(value)) == _plain(value)


def test_fixed_and_indirect_values_are_read() -> None:
    """Tuples of fixed length and numbers behind an offset, which some writers prefer."""
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("three")
        builder.FixedTypedVectorFromElements([1, 2, 3])
        builder.Key("far")
        builder.IndirectInt(-70000)
        builder.Key("farther")
        builder.IndirectFloat(0.5)
    assert read_flexbuffer(bytes(builder.Finish())) == {"three": (1, 2, 3), "far": -70000, "farther": 0.5}


def test_hostile_flexbuffers_end_in_an_error() -> None:
    """Whatever bytes there are, reading ends soon, with values or a `ValueError`."""
    choose = random.Random(0)
    sound = [_flex(value) for value in _VALUES]
    refused = 0
    for _ in range(4000):
        data = bytearray(choose.choice(sound))
        for _ in range(choose.randint(1, 4)):
            data[choose.randrange(len(data))] = choose.randrange(256)
        try:
            read_flexbuffer(bytes(data[: choose.randint(0, len(data))] if choose.random() < 0.2 else data))
        except ValueError:
            refused += 1
    assert refused > 1000


def test_overlapping_flexbuffer_is_refused_in_time() -> None:
    """Vectors that hold the same vector twice, level after level, are not unfolded."""
    data = bytearray(b"\x00\x00\x02\x01\x01\x04\x04")  # two integers: size, elements, types
    place = 3
    for _ in range(15):
        start = len(data) + 1
        data += bytes(
            [2, start - place, start + 1 - place, 40, 40]
        )  # size, two offsets, two types: vectors of byte width 1
        place = start
    data += bytes([len(data) - place, 40, 1])
    with pytest.raises(ValueError, match=r"overlap many times over|room for"):
        read_flexbuffer(bytes(data))


def test_example_model_is_that_of_the_tutorial(tmp_path: Path) -> None:
    """The example's script writes a model that loads with the example's operator."""
    path = tmp_path / "motion.tflite"
    subprocess.run([sys.executable, str(_EXAMPLE / "make_model.py"), str(path)], check=True)
    ops.register_custom(_CODE, FrameDifference, kernels=_KERNELS)
    graph = kibi.load(path)
    assert [node.op.name for node in graph.nodes] == [_CODE, "MAX_POOL_2D"]
    assert [field.name for field in fields(graph.nodes[0].op)] == ["threshold"]  # type: ignore[arg-type]  # it is a dataclass
    assert graph.nodes[0].op == FrameDifference(threshold=12)
