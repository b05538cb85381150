"""What a source includes, found in its text: an object is shared where that is the same, and compiled again where it is not."""

from pathlib import Path

import pytest

from kibi.targets import target
from kibi.toolchain import compile_objects
from kibi.toolchain.includes import compiled_texts, without_first_comments


def _write(folder: Path, **texts: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.h").write_text(text, encoding="utf-8")


def _included(folder: Path, text: str, *folders: str) -> tuple[str | bytes, ...] | None:
    """What is included, and the headers' texts, without the source's own."""
    found = compiled_texts(folder / "source.c", text.encode(), [folder / each for each in folders])
    if found is None:
        return None
    place = found.index(text.encode())
    return found[:place] + found[place + 1 :]


def test_headers_are_followed_and_each_is_read_once(tmp_path: Path) -> None:
    """Names in the order of the text, each with its file's number, then the files' contents; the system's headers have none."""
    _write(tmp_path, a='#include "b.h"\n', b='# include <stdint.h>\n#include "a.h"\n')
    found = _included(tmp_path, '#include "a.h"\n  #  include "b.h"\n')
    assert found is not None
    assert found[:8] == ("a.h", "1", "b.h", "2", "b.h", "2", "stdint.h", "-1")
    assert found[8:] == ("a.h", "1", (tmp_path / "a.h").read_bytes(), (tmp_path / "b.h").read_bytes())


def test_file_beside_the_source_counts_before_those_of_folders(tmp_path: Path) -> None:
    """In quotes, a name is looked for beside the file that includes it; in angle brackets, in the folders alone, in their order."""
    _write(tmp_path, x="near")
    _write(tmp_path / "one", y="one")
    _write(tmp_path / "two", x="far", y="two")
    assert _included(tmp_path, '#include "x.h"\n', "one", "two") == ("x.h", "1", b"near")
    assert _included(tmp_path, "#include <x.h>\n", "one", "two") == ("x.h", "1", b"far")
    assert _included(tmp_path, '#include "y.h"\n', "one", "two") == ("y.h", "1", b"one")


@pytest.mark.parametrize(
    "text",
    [
        '#inc\\\nlude "x.h"\n',
        '#/* a\ncomment */include "x.h" // why\n',
        '#if 0\n#include "x.h"\n#endif\nint y;\n',
        '#include\t"x.h"\r\n',
    ],
)
def test_directive_is_found_in_every_spelling(tmp_path: Path, text: str) -> None:
    """Joined lines, comments inside, conditions around it."""
    _write(tmp_path, x="text")
    assert _included(tmp_path, text) == ("x.h", "1", b"text")


@pytest.mark.parametrize(
    "text",
    [
        "#include NAME\n", "#include MACRO(x)\n", '%:include "x.h"\n', '??=include "x.h"\n', '#include "x.h" NAME\n',
        '#if __has_include("x.h")\n#endif\n', '__asm__(".include \\"x.h\\"");\n', '__asm__(".incbin \\"x.bin\\"");\n',
    ],
)  # fmt: skip
def test_text_that_does_not_tell_is_known(tmp_path: Path, text: str) -> None:
    """What a macro, another spelling or the assembler names makes all headers count, also where a header says it."""
    assert _included(tmp_path, text) is None
    _write(tmp_path, x=text)
    assert _included(tmp_path, '#include "x.h"\n') is None


def test_comments_and_strings_include_nothing(tmp_path: Path) -> None:
    """Words in a comment or in a string are no directives."""
    text = 'int z;\n/*\n#include "x.h"\n*/\nconst char *s = "/*";\n//\\\n#include "x.h"\nconst char *t = "*/";\n'
    assert _included(tmp_path, text) == ()


_GUARD = (
    "#ifndef KIBI_X\n#define KIBI_X\n{}\n/* names */\n#define kibi_add lib_kibi_add\n#define KIBI_PART 0\n\n#endif\n"
)


@pytest.mark.parametrize(
    ("middle", "text", "kept"),
    [
        ("int x;", "int y;", ()),
        ("int x;", "void kibi_add(void);", ("kibi_add",)),
        ("int kibi_add;", "#if KIBI_PART\n#endif\nint y;", ("kibi_add", "KIBI_PART")),
        ("#define JOINED(a) kibi_ ## a", "int y;", ("kibi_add",)),
        ("#define JOINED(a, b) a ## b", "int JOINED(KIBI, _PART);", ("KIBI_PART",)),
        ("#define TEXT(a) #a", "int kibi_;", ()),
        ("#define LONG a\\", "int y;", ("kibi_add", "KIBI_PART")),
    ],
)
def test_last_definitions_count_where_their_names_may_be_used(
    tmp_path: Path, middle: str, text: str, kept: tuple[str, ...]
) -> None:
    """A name that no text has, and that none can join, is left out; the text that is compiled stays the same."""
    _write(tmp_path, x=_GUARD.format(middle))
    found = _included(tmp_path, f'#include "x.h"\n{text}\n')
    assert found is not None
    header = found[-1]
    assert isinstance(header, bytes)
    assert tuple(name for name in ("kibi_add", "KIBI_PART") if f"#define {name} ".encode() in header) == kept


def test_definition_that_another_one_uses_or_a_flag_counts(tmp_path: Path) -> None:
    """Names are used by the values of others, too, and by the compiler's own flags."""
    _write(tmp_path, x="\n#define kibi_a kibi_b\n#define kibi_b 1\n#define kibi_c 1\n#endif\n")
    found = compiled_texts(tmp_path / "s.c", b'#include "x.h"\n', [], ["-DNAME=kibi_c"])
    assert found is not None
    assert found[-1] == b"\n#define kibi_b 1\n#define kibi_c 1"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/* a */\n/* b\n*/ int x; /* c */\n", "\n\n int x; /* c */\n"),
        ("int x; /* a */\n", "int x; /* a */\n"),
        ("/* a *\\\n/ int x; /* b */\n", "/* a *\\\n/ int x; /* b */\n"),
        ("/* a *??/\n/ int x; /* b */\n", "/* a *??/\n/ int x; /* b */\n"),
        ("// a\\\n b\nint x;\n", "// a\\\n b\nint x;\n"),
        ("/* a", "/* a"),
    ],
)
def test_first_comments_alone_are_left_out(text: str, left: str) -> None:
    """Lines keep their numbers, and a comment whose end could be another one is kept."""
    assert without_first_comments(text.encode()) == left.encode()


def test_object_is_shared_by_libraries_that_differ_in_other_kernels(tmp_path: Path) -> None:
    """A kernel that two libraries have is compiled once, whatever their models, other kernels and commands are."""
    made: list[Path] = []
    for number in range(2):
        folder = tmp_path / str(number)
        names = f"#define kibi_f lib_kibi_f\n#define kibi_f{number} lib_kibi_f{number}\n"
        _write(
            folder,
            kernel=f"/* command {number} */\n#ifndef K\n#define K\n{names}#endif\n",
            model=f"#define M {number}\n",
        )
        text = f'/* command {number} */\n#include "kernel.h"\nint kibi_f(void);\nint kibi_f(void) {{ return 3; }}\n'
        (folder / "kernel.c").write_text(text, encoding="utf-8")
        made += compile_objects([folder / "kernel.c"], target("cortex-m4"), includes=[folder])
    assert made[0] == made[1]


def test_header_of_a_macros_name_compiles_again(tmp_path: Path) -> None:
    """Where the text does not tell what is included, each header in the folders counts."""
    source = tmp_path / "source.c"
    source.write_text(
        '#define NAME "value.h"\n#include NAME\nint f(void);\nint f(void) { return VALUE; }\n', encoding="utf-8"
    )
    made: list[bytes] = []
    for number in range(2):
        _write(tmp_path, value=f"#define VALUE {number}\n")
        made += [path.read_bytes() for path in compile_objects([source], target("cortex-m4"))]
    assert made[0] != made[1]
