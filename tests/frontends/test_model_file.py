"""Models inside of other files: arrays in C source, and members of zip archives."""

import contextlib
import io
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kibi
from kibi.errors import KibiError, ModelError
from kibi.frontends.containers import ContainerError, arrays, members
from kibi.frontends.model_file import read_model
from tests.frontends.models import classifier, fully_connected, relu

_SMALL, _OTHER = relu(), fully_connected()


def _numbers(data: bytes, form: str = "0x{:02x}", line: int = 12) -> str:
    """The elements of an array as generators of C source write them."""
    rows = [", ".join(form.format(byte) for byte in data[at : at + line]) for at in range(0, len(data), line)]
    return ",\n  ".join(rows)


def _refusal(path: Path) -> str:
    with pytest.raises(ModelError) as refusal:
        kibi.load(path)
    (problem,) = refusal.value.problems
    assert problem.remedy
    return str(refusal.value)


def _zip(path: Path, contents: Mapping[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


_FORMS = {
    "xxd": "unsigned char model_tflite[] = {{\n  {}\n}};\nunsigned int model_tflite_len = 1;\n",
    "guide": '#include "model.h"\n\nalignas(16) const unsigned char g_model[] = {{\n{}}};\nconst int g_model_len = 2;\n',
    "edge_impulse": "#ifndef A\n#define A\nstatic const unsigned char trained_tflite[] "
    "__attribute__((aligned(16))) = {{ {} }};\n#endif\n",
    "macro": "const uint8_t DATA_ALIGN_ATTRIBUTE m[] = {{{}}};",
    "comments": '/* a[] = {{ 1 }}; */ const char *t = "= {{ // \\" {{"; // x[] = {{\n'
    "const uint8_t m[] /* here */ = {{ /* head */ {} }};",
    "comma_at_the_end": "const uint8_t m[] = {{{},}};",
    "windows": "const uint8_t m[] =\r\n{{\r\n{}\r\n}};\r\n",
}


@pytest.mark.parametrize("form", _FORMS)
def test_model_in_c_source_loads(tmp_path: Path, form: str) -> None:
    """As generators of such files write them."""
    path = tmp_path / "model.h"
    path.write_text(_FORMS[form].format(_numbers(_SMALL)))
    graph = kibi.load(path)
    assert (graph.name, graph.source, graph.path) == ("model", "model.h", path)
    assert read_model(path) == _SMALL


@pytest.mark.parametrize("form", ["{}", "0X{:02X}u", "{:d}U", "0{:o}", " {:#x} "])
def test_elements_may_be_any_integers_of_c(tmp_path: Path, form: str) -> None:
    """Decimal, octal and hexadecimal ones, with suffixes."""
    path = tmp_path / "model.cc"
    path.write_text(f"const unsigned char m[{len(_SMALL)}] = {{{_numbers(_SMALL, form)}}};")
    assert read_model(path) == _SMALL


def test_elements_may_be_signed(tmp_path: Path) -> None:
    """An array of signed characters has negative elements."""
    path = tmp_path / "model.c"
    path.write_text(f"const signed char m[] = {{{', '.join(str(byte - 256 * (byte > 127)) for byte in _SMALL)}}};")
    assert read_model(path) == _SMALL


def test_output_of_xxd_loads(tmp_path: Path) -> None:
    """The program itself, where it is installed."""
    (tmp_path / "m.tflite").write_bytes(_OTHER)
    try:
        made = subprocess.run(["xxd", "-i", "m.tflite"], cwd=tmp_path, capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip("xxd is not installed")
    (tmp_path / "m.h").write_bytes(made.stdout)
    assert read_model(tmp_path / "m.h") == _OTHER


def test_one_of_several_arrays_is_named_after_a_slash(tmp_path: Path) -> None:
    """Arrays that are no models do not count."""
    path = tmp_path / "models.cc"
    texts = [f"const unsigned char {name}[] = {{{_numbers(data)}}};" for name, data in (("a", _SMALL), ("b", _OTHER))]
    path.write_text("const int8_t sample[] = {1, 2, 3};\n" + "\n".join(texts))
    text = _refusal(path)
    assert "2 of its arrays are models: a, b" in text
    assert f"{path}/a" in text
    graph = kibi.load(path / "b")
    assert (graph.name, graph.source, graph.path) == ("b", "b", path / "b")
    assert read_model(path / "b") == _OTHER
    assert "is named 'sample': a, b" in _refusal(path / "sample")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const uint8_t m[4000] = {{{}}};", "declared with 4000 elements and has"),
        ("const uint8_t m[] = {{{}", "has no end: the file was cut"),
        ("const uint8_t m[] = {{{}, 300}};", "no bytes"),
        ("const uint8_t m[] = {{{}, FF}};", "is no number: 'FF'"),
        ("const uint8_t m[] = {{{}, 09}};", "09 is no number in C"),
        ("const uint8_t m[] = {{{}\n#ifdef A\n, 1\n#endif\n}};", "is no number"),
        ("const uint8_t m[] = {{1, 2}}; /* {} */", "no array in it begins as a .tflite file does"),
        ("typedef unsigned char byte; struct a {{ int {}; }};", "no array in it"),
    ],
)
def test_c_source_without_a_whole_model_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    """What is wrong, and what to do."""
    path = tmp_path / "model.h"
    path.write_text(text.format(_numbers(_SMALL)))
    assert expected in _refusal(path)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", ["/*", '"\\"', "= {", "a[]={", "'", "[", "//", "= { } ="])
def test_hostile_c_source_takes_no_longer_than_its_size(tmp_path: Path, text: str) -> None:
    """A text that begins very often what it does not end."""
    path = tmp_path / "model.h"
    path.write_text(text * 200_000)
    assert "no array in it" in _refusal(path)


def test_archive_with_one_model_loads(tmp_path: Path) -> None:
    """As MLTK writes it; of the members only the model counts."""
    contents = {"model.tflite": _SMALL, "model.h5": b"\x89HDF\r\n\x1a\n", "summary.txt": b"a text", "empty": b""}
    path = _zip(tmp_path / "wake_word.mltk.zip", contents)
    graph = kibi.load(path)
    assert (graph.name, graph.path) == ("wake_word", path)
    assert read_model(path) == _SMALL


def test_archive_with_c_source_loads(tmp_path: Path) -> None:
    """As Edge Impulse exports a C++ library: the model is an array in one of many sources."""
    source = _FORMS["edge_impulse"].format(_numbers(_OTHER)).encode()
    contents = {
        "sdk/a.h": b"int a;",
        "tflite-model/trained.h": source,
        "model-parameters/b.cpp": b"const int b[] = {1};",
    }
    path = _zip(tmp_path / "export.zip", contents)
    assert read_model(path) == _OTHER
    assert read_model(path / "tflite-model/trained.h/trained_tflite") == _OTHER


def test_one_of_several_members_is_named_after_a_slash(tmp_path: Path) -> None:
    """By its whole name in the archive, whatever it is."""
    path = _zip(tmp_path / "all.zip", {"a/x.tflite": _SMALL, "../y.tflite": _OTHER})
    assert "2 of its members are models: a/x.tflite, ../y.tflite" in _refusal(path)
    assert read_model(path / "a/x.tflite") == _SMALL
    assert kibi.load(path / "a" / "x.tflite").source == "x.tflite"
    assert "is named 'a'" in _refusal(path / "a")


def test_two_members_of_one_name_are_the_last_one(tmp_path: Path) -> None:
    """As every program that unpacks such an archive sees it."""
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m.tflite", _SMALL)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("m.tflite", _OTHER)
    assert read_model(path / "m.tflite") == _OTHER


@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archive_may_be_packed_in_any_way_that_python_knows(tmp_path: Path, kind: int) -> None:
    """The usual way is tested above."""
    assert read_model(_zip(tmp_path / "m.zip", {"m.tflite": _SMALL}, kind)) == _SMALL


def test_name_after_a_model_file_is_refused(tmp_path: Path) -> None:
    """A `.tflite` file has no models inside."""
    path = tmp_path / "m.tflite"
    path.write_bytes(_SMALL)
    assert "has no models inside, and none named 'x'" in _refusal(path / "x")
    assert "there is no such file" in _refusal(tmp_path / "absent" / "x")


def _encrypted(path: Path) -> None:
    data = bytearray(_zip(path, {"m.tflite": _SMALL}).read_bytes())
    for start, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(start) + offset] |= 1
    path.write_bytes(data)


def test_encrypted_archive_says_so(tmp_path: Path) -> None:
    """Kibi asks for no passwords."""
    _encrypted(tmp_path / "m.zip")
    assert "encrypted" in _refusal(tmp_path / "m.zip")


def test_archive_of_too_many_members_is_refused(tmp_path: Path) -> None:
    """Each would have to be opened."""
    path = _zip(tmp_path / "m.zip", {str(number): b"" for number in range(10_001)}, zipfile.ZIP_STORED)
    assert "10001 members" in _refusal(path)


def test_archive_that_unpacks_to_very_much_is_read_no_further_than_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is no model eight bytes are unpacked; of C source as much as the limit says."""
    zeros = bytes(100_000_000)
    path = _zip(tmp_path / "m.zip", {"zeros": zeros, "m.tflite": _SMALL})
    assert path.stat().st_size < 200_000
    assert read_model(path) == _SMALL
    monkeypatch.setattr("kibi.frontends.containers.zip_archive._MOST_READ_BYTES", 1000)
    assert "too large to be searched" in _refusal(_zip(tmp_path / "n.zip", {"a.h": bytes(2000)}))


@pytest.mark.parametrize("make", ["archive", "source"])
@settings(max_examples=100)
@given(st.data())
def test_damaged_containers_end_in_an_error_or_in_bytes(make: str, data: st.DataObject) -> None:
    """Whatever bytes change."""
    if make == "archive":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a/m.tflite", _SMALL)
            archive.writestr("n.h", f"const uint8_t n[] = {{{_numbers(_SMALL)}}};")
        model = bytearray(buffer.getvalue())
    else:
        model = bytearray(f"const uint8_t n[] = {{{_numbers(_SMALL)}}};".encode())
    for _ in range(data.draw(st.integers(1, 4))):
        model[data.draw(st.integers(0, len(model) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ContainerError):
        for found in (members if make == "archive" else arrays)(bytes(model)):
            found.read()


def test_convert_writes_what_load_reads(tmp_path: Path) -> None:
    """Whatever the model is inside of."""
    path = _zip(tmp_path / "m.zip", {"m.h": f"const uint8_t n[] = {{{_numbers(classifier())}}};".encode()})
    found = kibi.convert(path, tmp_path / "m.tflite")
    assert not found.is_changed
    assert (tmp_path / "m.tflite").read_bytes() == found.data == classifier()
    assert kibi.convert(path).data == found.data


def test_convert_of_what_does_not_load_writes_nothing(tmp_path: Path) -> None:
    """Neither a new file nor over an old one."""
    broken = tmp_path / "m.tflite"
    broken.write_bytes(_SMALL[:100] + bytes(50))
    with pytest.raises(KibiError):
        kibi.convert(broken, tmp_path / "out.tflite")
    assert not (tmp_path / "out.tflite").exists()
