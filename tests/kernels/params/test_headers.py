"""The headers' structs are those of the descriptions, in text and in compiled layout."""

from pathlib import Path
from typing import Any

import pytest

from kibi.kernels import header_of, kernel_folder
from kibi.kernels.headers import outdated_headers, struct_fields
from kibi.kernels.params import PARAMS, Params
from kibi.kernels.params.c_text import layout_checks
from kibi.targets import target
from kibi.toolchain import compile_objects
from tests.toolchain.tools import check_cross

_SETS = ("host", "armv7em", "portable")
_FOLDERS = tuple(kernel_folder(name) for name in ("portable", "armv7em", "host"))


def test_headers_are_written_from_the_descriptions() -> None:
    """`make headers` would change nothing."""
    assert sorted(path.name for path in outdated_headers()) == []


@pytest.mark.parametrize("kernel", sorted(PARAMS))
def test_header_has_the_fields_of_the_description(kernel: str) -> None:
    """Types, names and their order agree."""
    described = [(each.type, each.is_pointer, each.name) for each in PARAMS[kernel].members()]
    assert list(struct_fields(kernel, _SETS)) == described


def _checks(folder: Path, kinds: dict[str, type[Params]]) -> list[Path]:
    path = folder / "layouts.c"
    includes = "".join(f'#include "{header}"\n' for header in sorted({header_of(kernel) for kernel in kinds}))
    checks = "".join(layout_checks(kind).text for kind in dict.fromkeys(kinds.values()))
    path.write_text(f"#include <stddef.h>\n#include <stdint.h>\n{includes}{checks}")
    return [path]


@pytest.mark.parametrize("name", ["host", "cortex-m0plus", "cortex-m4"])
def test_compiler_lays_structs_out_as_described(name: str, tmp_path: Path) -> None:
    """Each offset and each size, where pointers have four bytes and eight."""
    compile_objects(_checks(tmp_path, dict(PARAMS)), target(name), includes=[*_FOLDERS])


@pytest.mark.cross
def test_gcc_lays_structs_out_as_described(tmp_path: Path) -> None:
    """The same with `arm-none-eabi-gcc`."""
    check_cross()
    compile_objects(_checks(tmp_path, dict(PARAMS)), target("cortex-m4"), compiler="gcc", includes=[*_FOLDERS])


def test_another_layout_does_not_compile(tmp_path: Path) -> None:
    """The checks see two fields that have changed places."""
    kind = PARAMS["kibi_softmax_s8"]
    first, second, *others = kind.fields
    wrong: Any = type("Wrong", (kind,), {}, struct=kind.struct)
    wrong.fields = (second, first, *others)
    with pytest.raises(Exception, match="has_"):
        compile_objects(_checks(tmp_path, {"kibi_softmax_s8": wrong}), target("cortex-m4"), includes=[*_FOLDERS])
