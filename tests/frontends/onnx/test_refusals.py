"""ONNX files that are damaged, foreign, too new, open, incomplete, or ask for what Kibi does not have."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, external_data_helper, helper

import kibi
from kibi.errors import KibiError, ModelError
from kibi.frontends.onnx import folding
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.onnx_models import OnnxBuilder, image_network


def _saved(model: Any, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def _refusal(path: Path, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as refusal:
        kibi.load(path, **options)
    assert all(problem.remedy for problem in refusal.value.problems)
    return refusal.value


def _relu(*shape: int | str) -> Any:
    b = OnnxBuilder()
    return b.model(b.node("Relu", b.input(shape)))


def test_file_that_is_cut_is_damaged(tmp_path: Path) -> None:
    """The bytes end within a message."""
    path = _saved(image_network(Seeded(1)).model, tmp_path)
    path.write_bytes(path.read_bytes()[:-7])
    assert "damaged" in str(_refusal(path))


def test_file_without_a_graph_says_so(tmp_path: Path) -> None:
    """A header alone is no model."""
    model = helper.make_model(onnx.GraphProto(name="empty"), ir_version=8)
    assert "no graph with outputs" in str(_refusal(_saved(model, tmp_path)))


def test_damaged_bytes_end_in_an_error_of_kibi_or_in_success(tmp_path: Path) -> None:
    """Whatever is changed in a file, nothing else is raised."""
    whole = image_network(Seeded(3)).model.SerializeToString()
    path = tmp_path / "model.onnx"
    chance = random.Random(7)
    refused = 0
    for _ in range(amount(60, 1500)):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(2, len(data))] = chance.randrange(256)
        path.write_bytes(data)
        try:
            kibi.load(path)
        except KibiError:
            refused += 1
    assert refused > 0


@pytest.mark.parametrize(("field", "said"), [("opset", "operators have version"), ("ir", "format has version")])
def test_newer_versions_are_named_with_the_newest_that_is_known(field: str, said: str, tmp_path: Path) -> None:
    """The library has to be updated, or the model exported again."""
    model = _relu(1, 4)
    if field == "opset":
        model.opset_import[0].version = 900
    else:
        model.ir_version = 900
    text = str(_refusal(_saved(model, tmp_path)))
    assert said in text
    assert "900" in text


def test_older_versions_are_converted(tmp_path: Path) -> None:
    """Opset 9, in which BatchNormalization and Dropout were other ones."""
    b = OnnxBuilder()
    x = b.input((1, 2, 4, 4))
    y = b.node("Dropout", b.node("Squeeze", b.node("GlobalAveragePool", x), axes=(2, 3)), ratio=0.3)
    model = b.model(str(y), opset=9)
    graph = kibi.load(_saved(model, tmp_path))
    assert [view.op.name for view in graph.views] == ["MEAN", "RESHAPE"]


def test_constants_of_old_files_are_inputs_too_and_stay_constants(tmp_path: Path) -> None:
    """Version 3 of the format lists all initializers among the inputs."""
    b = OnnxBuilder()
    y = b.node("Conv", b.input((1, 2, 5, 5)), b.weights(3, 2, 3, 3))
    model = b.model(str(y), opset=11)
    model.ir_version = 3
    for each in model.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(each.name, each.data_type, each.dims))
    graph = kibi.load(_saved(model, tmp_path))
    assert [graph.tensors[index].name for index in graph.inputs] == ["x"]
    assert [view.op.name for view in graph.views] == ["CONV_2D"]


def test_file_that_breaks_a_rule_says_which(tmp_path: Path) -> None:
    """The checker's words are in the text."""
    model = _relu(1, 4)
    model.graph.node[0].input[0] = "nobody"
    assert "breaks a rule of ONNX" in str(_refusal(_saved(model, tmp_path)))


def test_shapes_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """The library infers shapes strictly."""
    b = OnnxBuilder()
    x = b.input((1, 4))
    y = b.node("MatMul", x, b.weights(5, 3))
    model = helper.make_model(
        helper.make_graph(
            b.nodes,
            "wrong",
            b.inputs,
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, (1, 3))],
            [onnx.numpy_helper.from_array(array, name) for name, array in b.constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    assert "shapes or types do not fit" in str(_refusal(_saved(model, tmp_path)))


def test_all_unsupported_operators_are_listed_in_groups(tmp_path: Path) -> None:
    """The same reason is one line, with the names of some nodes."""
    b = OnnxBuilder()
    x = b.input((1, 6))
    for _ in range(5):
        x = b.node("Acos", x)
    shapes = b.node("Mod", b.node("Cast", x, to=TensorProto.INT8), b.constant(np.array([3], np.int8)))
    problems = _refusal(_saved(b.model(b.node("Cast", shapes, to=TensorProto.FLOAT)), tmp_path)).problems
    assert [problem.what for problem in problems] == [
        "Acos (acos_0, acos_1, acos_2 and 2 more): it is not supported",
        "Mod (mod_6): remainders of s8 are not supported",
    ]


def test_operator_of_a_foreign_domain_is_named_with_it(tmp_path: Path) -> None:
    """A custom operator of somebody's runtime."""
    b = OnnxBuilder()
    y = b.node("Sparkle", b.input((1, 4)), domain="org.example")
    model = b.model(str(b.node("Relu", y)), domains=("org.example",), shape=(1, 4))
    assert "org.example.Sparkle" in str(_refusal(_saved(model, tmp_path)))


def test_open_sizes_are_all_named_with_the_option_that_fixes_them(tmp_path: Path) -> None:
    """One problem for all inputs, in words that can be typed."""
    b = OnnxBuilder()
    inputs = [b.input(("batch", 3), name="a"), b.input(("batch", 3), name="b")]
    path = _saved(b.model(str(b.node("Add", *inputs))), tmp_path)
    (problem,) = _refusal(path).problems
    assert problem.what == "sizes of inputs are open: a [batch, 3]; b [batch, 3]"
    assert "--shape a=1,3 --shape b=1,3" in problem.remedy


def test_shapes_fix_open_sizes_and_all_that_have_the_same_name(tmp_path: Path) -> None:
    """`batch` of one input is that of the other."""
    b = OnnxBuilder()
    inputs = [b.input(("batch", 3), name="a"), b.input(("batch", 3), name="b")]
    path = _saved(b.model(str(b.node("Add", *inputs))), tmp_path)
    graph = kibi.load(path, shapes={"a": (2, 3)})
    assert [graph.tensors[index].type.shape for index in graph.inputs] == [(2, 3), (2, 3)]
    assert graph.path is None


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ({"x": (1, 5)}, r"does not fit the file's \[batch, 4\]"),
        ({"x": (1, 4, 1)}, "does not fit"),
        ({"x": (0, 4)}, "below 1"),
        ({"y": (1, 4)}, "there is no input 'y'"),
    ],
)
def test_shapes_that_do_not_fit_the_file_are_refused(
    shapes: dict[str, tuple[int, ...]], said: str, tmp_path: Path
) -> None:
    """Each with the file's own shape, or the names of its inputs."""
    path = _saved(_relu("batch", 4), tmp_path)
    with pytest.raises(ModelError, match=said):
        kibi.load(path, shapes=shapes)


def test_shape_that_depends_on_data_names_the_operator(tmp_path: Path) -> None:
    """What NonZero gives is known when the model runs."""
    b = OnnxBuilder()
    y = b.node("Cast", b.node("NonZero", b.input((3, 4))), to=TensorProto.FLOAT)
    assert "NonZero" in str(_refusal(_saved(b.model(str(y)), tmp_path)))


def _with_external_data(folder: Path, location: str) -> Path:
    b = OnnxBuilder()
    y = b.node("MatMul", b.input((1, 4)), b.constant(np.arange(12, dtype=np.float32).reshape(4, 3)))
    model = b.model(str(y))
    external_data_helper.convert_model_to_external_data(model, location="weights.bin", size_threshold=0)
    onnx.save(model, folder / "model.onnx")
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            entry.value = location if entry.key == "location" else entry.value
    return _saved(model, folder)


def test_external_data_beside_the_file_are_read(tmp_path: Path) -> None:
    """The weights come into the file that is made."""
    graph = kibi.load(_with_external_data(tmp_path, "weights.bin"))
    filters = [tensor.data for tensor in graph.tensors if tensor.data is not None and tensor.data.shape == (3, 4)]
    assert [each.T.reshape(-1).tolist() for each in filters] == [list(range(12))]


def test_external_data_that_are_missing_or_short_are_named(tmp_path: Path) -> None:
    """With what to do."""
    path = _with_external_data(tmp_path, "weights.bin")
    (tmp_path / "weights.bin").write_bytes(b"short")
    assert "'weights.bin' end before byte 48" in str(_refusal(path))
    (tmp_path / "weights.bin").unlink()
    assert "'weights.bin' are missing" in str(_refusal(path))


@pytest.mark.parametrize(
    "location", ["../secret.bin", "/etc/hostname", "a/../../secret.bin", "", "C:\\secret", "link.bin"]
)
def test_external_data_outside_of_the_folder_are_never_read(location: str, tmp_path: Path) -> None:
    """Not by a path, and not by a link."""
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(48))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    path = _with_external_data(folder, location)
    assert "outside of the model's folder" in str(_refusal(path))


def test_nothing_is_written_of_a_model_that_is_refused(tmp_path: Path) -> None:
    """Neither a file, nor half of one."""
    b = OnnxBuilder()
    path = _saved(b.model(str(b.node("Acos", b.input((1, 4))))), tmp_path)
    with pytest.raises(ModelError):
        kibi.convert(path, tmp_path / "model.tflite")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.onnx"]


def test_constant_that_grows_beyond_all_bounds_is_not_computed(tmp_path: Path) -> None:
    """A few bytes can ask for terabytes."""
    b = OnnxBuilder()
    huge = b.node("ConstantOfShape", b.constant(np.array([1 << 20, 1 << 20], np.int64)))
    x = b.input((1, 4))
    model = b.model(str(b.node("Add", x, b.node("ReduceSum", huge, keepdims=0))))
    assert "ConstantOfShape" in str(_refusal(_saved(model, tmp_path)))


def test_constants_are_computed_up_to_a_bound_for_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these would fit, and all of them together would not."""
    monkeypatch.setattr(folding, "_MOST_ELEMENTS", 1 << 16)
    b = OnnxBuilder()
    count = b.constant(np.array([1 << 14], np.int64))
    y = b.input((1, 4))
    for _ in range(9):
        y = b.node("Add", y, b.node("ReduceMax", b.node("ConstantOfShape", count), keepdims=0))
    assert "ConstantOfShape" in str(_refusal(_saved(b.model(str(y)), tmp_path)))


def test_functions_that_multiply_are_refused_before_they_are_expanded(tmp_path: Path) -> None:
    """Each function calls the one before it ten times: the file has 2 kB, and its model 10^11 nodes."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    functions = [helper.make_function("own", "F0", ["a"], ["t9"], [helper.make_node("Relu", ["a"], ["t9"])], opsets)]
    for level in range(1, 12):
        calls = [
            helper.make_node(f"F{level - 1}", [f"t{each - 1}" if each else "a"], [f"t{each}"], domain="own")
            for each in range(10)
        ]
        functions.append(helper.make_function("own", f"F{level}", ["a"], ["t9"], calls, opsets))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("F11", ["x"], ["y"], domain="own")],
        "large",
        [value("x", TensorProto.FLOAT, (1, 4))],
        [value("y", TensorProto.FLOAT, (1, 4))],
    )
    model = helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)
    assert "100,000,000,000 nodes" in str(_refusal(_saved(model, tmp_path)))
