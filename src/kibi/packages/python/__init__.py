"""The kind `python`: an installable package whose C is built when it is installed, and called with ctypes."""

from collections.abc import Iterable

from kibi.codegen import Library
from kibi.ir import TensorType
from kibi.packages.example import model_name
from kibi.packages.golden import Golden
from kibi.packages.kind import Arrangement, Kind
from kibi.packages.readme import readme
from kibi.packages.simple import wrapped
from kibi.packages.sources import VERSION, moved_texts, summary, with_first_lines
from kibi.packages.templates import filled_c, filled_text
from kibi.text.c import code
from kibi.text.file_name import FileName
from kibi.text.package import PackageText, bare_word, lines_of, number_text, package_text

_FOLDER = "c"


def _arrange(library: Library, golden: Golden | None) -> Arrangement:
    parts = wrapped(library, golden, "python")
    c_name, name, about = model_name(library), bare_word(library.model.graph.name), summary(library)
    has_reset = bool(parts.model.variable_bytes)
    texts = moved_texts(library, _FOLDER)
    reset = filled_c("python/reset.c.in", name=c_name) if has_reset else code("")
    texts[FileName("kibi_python.c", "wrapper")] = with_first_lines(
        library, filled_c("python/model.c.in", name=c_name, reset=reset)
    )
    package = f"kibi_{name.text}"
    texts[FileName("__init__.py", package)] = filled_text("python/init.py.in", name=name, summary=about)
    texts[FileName("model.py", package)] = filled_text(
        "python/model.py.in",
        name=name,
        arena=library.model.arena_bytes,
        inputs=_tensors(parts.inputs),
        outputs=_tensors(parts.outputs),
        reset=filled_text("python/reset.py.in") if has_reset else package_text(""),
    )
    texts[FileName("__main__.py", package)] = filled_text("python/main.py.in", name=name, crc=parts.golden.crc32)
    texts[FileName("test_golden.py", "tests")] = filled_text("python/test_golden.py.in", name=name)
    texts[FileName("setup.py")] = filled_text(
        "python/setup.py.in", name=name, reset=package_text(', "reset"') if has_reset else package_text("")
    )
    texts[FileName("README.md")] = readme(library, filled_text("python/use.md.in", name=name))
    texts[FileName("MANIFEST.in")] = filled_text("python/MANIFEST.in.in")
    texts[FileName("pyproject.toml")] = filled_text(
        "python/pyproject.toml.in", name=name, version=bare_word(VERSION), summary=about
    )
    return Arrangement(texts, root=_FOLDER)


def _tensors(types: Iterable[TensorType]) -> PackageText:
    """A line for each tensor: shape, type, scale and zero point."""
    return lines_of(
        package_text(
            '    Tensor($shape, "$dtype"$quantization),',
            shape=_tuple(each.shape),
            dtype=bare_word(str(each.dtype.numpy)),
            quantization=_quantization(each),
        )
        for each in types
    )


def _tuple(sizes: tuple[int, ...]) -> PackageText:
    inner = package_text(", ").join(package_text("$size", size=size) for size in sizes)
    return package_text("($inner,)", inner=inner) if len(sizes) == 1 else package_text("($inner)", inner=inner)


def _quantization(kind: TensorType) -> PackageText:
    if kind.quantization is None or kind.quantization.is_per_channel:
        return package_text("")
    return package_text(
        ", $scale, $zero",
        scale=number_text(kind.quantization.scale),
        zero=kind.quantization.zero_point,
    )


PYTHON = Kind(
    name="python",
    description="a Python package that runs the model's C with NumPy arrays",
    tested="Installed with pip and gcc on Linux, golden vector and test run. Not built with Microsoft's compiler, nor on macOS.",
    use="pip install {directory} && python -m kibi_{name}",
    arrange=_arrange,
)
