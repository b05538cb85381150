"""Templates of kernels: what is made of them, and what is wrong with some."""

from pathlib import Path

import pytest

from kibi.errors import InternalError
from kibi.kernels import file_names, header_of, kernel_folder, text_of
from kibi.kernels.params import PARAMS
from kibi.kernels.params.description import FieldKind
from kibi.kernels.templates import instances

_SETS = (("portable",), ("armv7em",))
_LAST = "/*= =\n *  The loop. */\nvoid KERNEL(RESULT *output, const TYPE_t *input, const PARAMS *params);\n"
_PART = """\
/*= kibi_twice_TYPE
 *  TYPE: s8 f32
 *  RESULT: TYPE_t
 *  Twice the input. */
/* TYPE and TYPES differ. */

"""


def _made(tmp_path: Path, text: str) -> dict[str, str]:
    (tmp_path / "some.c").write_text(text)
    return {name: each.text("kibi_some", "kibi_some_params").text for name, each in instances(tmp_path).items()}


def test_part_makes_a_kernel_for_each_type(tmp_path: Path) -> None:
    """Words are replaced where they stand alone, the type in C where `_t` follows."""
    made = _made(tmp_path, "/* What the template is. */\n\n" + _PART + _LAST)
    assert list(made) == ["kibi_twice_s8", "kibi_twice_f32"]
    assert made["kibi_twice_f32"] == (
        "/* Twice the input.\n * Made from the template some.c. */\n"
        '#include "kibi_some.h"\n\n'
        "/* f32 and TYPES differ. */\n\n"
        "void kibi_twice_f32(float *output, const float *input, const kibi_some_params *params);\n"
    )


def test_part_with_two_types_makes_a_kernel_for_each_pair(tmp_path: Path) -> None:
    """A word may contain another one."""
    part = "/*= kibi_cast_TYPE_TO_TYPE\n *  TYPE: s8 u8\n *  TO_TYPE: s16 f32\n *  RESULT: TO_TYPE_t\n *  From TYPE. */\n\n"
    made = _made(tmp_path, part + _LAST)
    assert list(made) == ["kibi_cast_s8_s16", "kibi_cast_s8_f32", "kibi_cast_u8_s16", "kibi_cast_u8_f32"]
    assert "void kibi_cast_u8_f32(float *output, const uint8_t *input," in made["kibi_cast_u8_f32"]


def test_texts_of_words_depend_on_what_the_name_has(tmp_path: Path) -> None:
    """A word of the name lists kernels, too; a line may be for several of them; a file needs no part for all its kernels."""
    part = """\
/*= kibi_POOL_TYPE
 *  POOL: mean l2 max
 *  TYPE: s8 f32
 *  ROOT mean, max: x
 *  ROOT l2: root(x)
 *  ONE s8: 1
 *  ONE f32: 1.0f
 *  POOL of TYPE. */
ROOT + ONE
"""
    made = _made(tmp_path, part)
    assert list(made) == [f"kibi_{pool}_{kind}" for pool in ("mean", "l2", "max") for kind in ("s8", "f32")]
    assert {name: text.splitlines()[-1] for name, text in made.items() if name.endswith("f32")} == {
        "kibi_mean_f32": "x + 1.0f",
        "kibi_l2_f32": "root(x) + 1.0f",
        "kibi_max_f32": "x + 1.0f",
    }
    assert made["kibi_l2_s8"].startswith("/* l2 of s8.\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_LAST, "has no part that makes a kernel"),
        (_PART.replace("s8 f32", "s8 s7") + _LAST, "names types that are none: s7"),
        (_PART.replace("TYPE: s8 f32", "TYPE s8: s8 f32") + _LAST, "names types that are none: TYPE"),
        (_PART.replace("RESULT:", "RESULT s8:") + _LAST, "has 0 texts for RESULT in the kernel of f32, not one"),
        (
            _PART.replace("RESULT:", "RESULT s8: float\n *  RESULT:") + _LAST,
            "has 2 texts for RESULT in the kernel of s8",
        ),
        (_PART + _PART + _LAST, "both make kibi_twice_s8"),
    ],
    ids=["no part", "unknown type", "no types", "no text for a type", "two texts for a type", "twice"],
)
def test_wrong_template_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """A template that makes nothing, or makes a kernel twice, is an error of Kibi's own."""
    with pytest.raises(InternalError, match=message):
        _made(tmp_path, text)


def test_templates_of_kibi_make_kernels_that_no_file_has() -> None:
    """Each instance is declared in a header, has a struct, and replaces no file; nothing is left to be filled in."""
    made = instances(kernel_folder("templates"))
    assert len(made) > 100
    for kernel in made:
        assert kernel in PARAMS
        assert not (kernel_folder() / f"{kernel}.c").exists()
        text = text_of(f"{kernel}.c", ("portable",)).text
        assert f'#include "{header_of(kernel)}"\n' in text
        assert f"void {kernel}(" in text
        assert not {"TYPE", "TYPE_t", "VALUE", "RESULT", "KERNEL", "PARAMS"} & set(text.replace("(", " ").split())
    assert {f"{kernel}.c" for kernel in made} <= set(file_names(("portable",)))
    assert not made.keys() & {path.stem for path in kernel_folder().glob("*.c")}


def test_folders_of_kernels_have_at_most_as_many_files_as_they_should() -> None:
    """What differs in types only is one text."""
    assert len(list(kernel_folder(".").glob("*/*.[chS]"))) <= 466


def test_kernels_that_copy_their_parameters_have_no_pointers() -> None:
    """In a plan file a pointer is a distance from the struct, which a copy does not keep."""
    copying = [
        name.removesuffix(".c")
        for sets in _SETS
        for name in file_names(sets)
        if "= *params;" in text_of(name, sets).text
    ]
    assert len(copying) > 40
    for kernel in copying:
        assert all(field.kind is not FieldKind.ARRAY for field in PARAMS[kernel].fields), kernel
