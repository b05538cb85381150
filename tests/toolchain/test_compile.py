"""Compiling: flags, languages, the reasons to compile again, and errors."""

import importlib.util
from pathlib import Path

import pytest

from kibi.errors import ToolchainError
from kibi.targets import InstructionSet, targets
from kibi.targets import target as target_named
from kibi.toolchain import build_image, compile_objects
from tests.toolchain.tools import check_cross

_M4 = target_named("cortex-m4")
_DEVICES = tuple(entry.name for entry in targets() if entry.is_known and not entry.is_host)


def _source(folder: Path, text: str, name: str = "source.c") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("name", _DEVICES)
@pytest.mark.parametrize("compiler", ["zig", "gcc"])
def test_every_device_and_language_compiles(tmp_path: Path, name: str, compiler: str) -> None:
    """The standard headers that kernels may include are there, as C99 and as C++17, at all levels."""
    if compiler == "gcc":
        check_cross()
        if target_named(name).instruction_set is not InstructionSet.THUMB:
            with pytest.raises(ToolchainError, match=f"gcc does not support the target {name}. Use zig"):
                compile_objects([_source(tmp_path, "")], target_named(name), compiler="gcc")
            return
    text = (
        "#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n"
        "int32_t f(int8_t *to, const int8_t *from, size_t n);\n"
        "int32_t f(int8_t *to, const int8_t *from, size_t n) { memcpy(to, from, n); return to[0]; }\n"
    )
    source = _source(tmp_path, text)
    for language, level in (("c99", "s"), ("c99", "2"), ("c++17", "2"), ("c++17", "3"), ("c99", "0")):
        (made,) = compile_objects([source], target_named(name), compiler=compiler, level=level, language=language)
        assert made.name == "source.o"
        assert made.read_bytes()[:4] == (b"\0asm" if name.startswith("wasm") else b"\x7fELF")


@pytest.mark.parametrize(
    "text",
    [
        "int f(void) { int unused; return 1; }",
        "signed char f(int a) { return a; }",
        "int f(int a) { { int a = 2; (void)a; } return a; }",
        "#if UNKNOWN\n#endif\nint f(void) { return 1; }",
        "int f(int n) { int a[n]; a[0] = n; return a[0]; }",
        "int f(void) { return ({ 1; }); }",
    ],
)
def test_warnings_are_errors(tmp_path: Path, text: str) -> None:
    """Unused, converting, shadowing, undefined, variable-length and non-standard code does not compile."""
    with pytest.raises(ToolchainError, match=r"source\.c does not compile") as caught:
        compile_objects([_source(tmp_path, text)], _M4)
    assert "error:" in caught.value.output
    assert caught.value.command[-1].endswith("source.o")


def test_objects_come_in_the_order_of_sources(tmp_path: Path) -> None:
    """One object per source, named as it is, also for two sources of one name."""
    sources = [_source(tmp_path / f"{n}", f"int f{n}(void) {{ return {n}; }}", name) for n, name in enumerate("ba")]
    sources = [path.rename(path.with_name(f"same{path.name}.c")) for path in sources]
    made = compile_objects([*sources, sources[0]], _M4)
    assert [path.name for path in made] == ["sameb.o", "samea.o", "sameb.o"]
    assert made[0] == made[2] != made[1]


def test_changed_header_compiles_again(tmp_path: Path) -> None:
    """A header in an include folder, at any depth, or beside the source is part of what is compiled."""
    deep = _source(tmp_path / "include" / "deep", "#define VALUE 1\n", "value.h")
    near = _source(tmp_path, "#define OTHER 1\n", "near.h")
    source = _source(tmp_path, '#include "deep/value.h"\n#include "near.h"\nint f(void) { return VALUE + OTHER; }')

    def build() -> bytes:
        (made,) = compile_objects([source], _M4, includes=[tmp_path / "include"])
        return made.read_bytes()

    first = build()
    deep.write_text("#define VALUE 2\n", encoding="utf-8")
    second = build()
    near.write_text("#define OTHER 3\n", encoding="utf-8")
    third = build()
    deep.write_text("#define VALUE 1\n", encoding="utf-8")
    near.write_text("#define OTHER 1\n", encoding="utf-8")
    assert len({first, second, third}) == 3
    assert build() == first


def test_object_does_not_depend_on_where_its_source_lies(tmp_path: Path) -> None:
    """The same text in two folders gives the same object, even if it names its own file."""
    text = "const char *f(void) { return __FILE__; }"
    one, two = compile_objects([_source(tmp_path / "one", text), _source(tmp_path / "two", text)], _M4)
    assert one == two
    assert str(tmp_path).encode() not in one.read_bytes()


def test_four_byte_copy_is_no_call(tmp_path: Path) -> None:
    """A memcpy of a word is one load and one store, not a call."""
    text = "#include <string.h>\nint f(const void *p) { int word; memcpy(&word, p, 4); return word; }"
    image = build_image([_source(tmp_path, text)], _M4, entries=["f"])
    assert set(image.symbols) == {"f"}
    assert image.symbols["f"].size == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compiler": "tcc"}, "unknown compiler 'tcc'. Compilers are: zig, gcc, clang"),
        ({"level": "fast"}, "unknown optimization level 'fast'. Levels are: 0, 1, 2, 3, s"),
        ({"language": "c89"}, "unknown language 'c89'. Languages are: c99, c[+][+]17"),
        ({"sanitize": True}, "sanitizers run on the host alone, not on cortex-m4"),
    ],
)
def test_unknown_names_are_errors(tmp_path: Path, options: dict[str, str], message: str) -> None:
    """A name that does not exist is refused with those that do."""
    with pytest.raises(ToolchainError, match=message):
        compile_objects([_source(tmp_path, "int f(void);")], _M4, **options)  # type: ignore[arg-type]


def test_unreadable_source_is_an_error(tmp_path: Path) -> None:
    """A source that is not there is named."""
    with pytest.raises(ToolchainError, match=r"cannot read the source .*missing\.c: No such file"):
        compile_objects([tmp_path / "missing.c"], _M4)


@pytest.mark.parametrize(
    ("target", "missing"), [("cortex-m4", "arm-none-eabi-gcc is not"), ("host", "neither gcc nor clang is")]
)
def test_missing_gcc_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, missing: str
) -> None:
    """Without the compiler on PATH the error names the tool and its package."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=rf"^{missing} on PATH. Install .*apt install .*gcc"):
        compile_objects([_source(tmp_path, "int f(void);")], target_named(target), compiler="gcc")


def test_missing_zig_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the ziglang package the error says how to get it."""
    from kibi.toolchain import compilers  # noqa: PLC0415 - the module itself, to replace what it imported

    monkeypatch.setattr(compilers, "find_spec", lambda _: None)
    with pytest.raises(ToolchainError, match="pip install ziglang"):
        compilers.zig_command()
    assert importlib.util.find_spec("ziglang") is not None
