"""What the examples of all kinds in C and C++ share: an inference on the golden vector."""

from kibi.codegen import Library
from kibi.errors import InputError
from kibi.packages.golden import Golden
from kibi.packages.sources import with_first_lines
from kibi.packages.templates import filled_c
from kibi.text.c import CCode, code, hexadecimal, identifier


def example_parts(library: Library, golden: Golden | None) -> CCode:
    """The declarations of an example: memory, and the function `run_golden`, in the language that C and C++ share.

    Args:
        library: whose first model it runs.
        golden: what it must give; None: nothing is compared.
    """
    parts, name = library.example, model_name(library)
    return code(
        """\
$memory
static ${name}_t model;
$storage
$golden""",
        memory=parts.memory.stripped(),
        name=name,
        storage=parts.storage,
        golden=filled_c(
            "golden.c.in",
            begin=parts.begin,
            hand_over=parts.hand_over,
            name=name,
            status=code("KIBI_OK") if golden is None or golden.is_complete else code("KIBI_NEED_MORE_INPUT"),
            check=_check(library, golden),
        ),
    )


def example_places(library: Library, golden: Golden | None) -> dict[str, CCode]:
    """What the template of an example's main file takes: `includes`, `parts` and `name`."""
    return {
        "includes": library.example.includes,
        "parts": example_parts(library, golden),
        "name": model_name(library),
    }


def stdio_example(library: Library, golden: Golden | None) -> CCode:
    """A program for a system with `printf`: the outputs of the golden vector, and whether their bits are the same."""
    parts = library.example
    main = filled_c(
        "example_main.c.in",
        includes=parts.includes,
        parts=example_parts(library, golden),
        show=parts.show if golden is None or golden.is_complete else code(""),
        name=model_name(library),
    )
    return with_first_lines(library, main)


def _check(library: Library, golden: Golden | None) -> CCode:
    """The statements that compare the outputs."""
    if golden is None or not golden.is_complete:
        return code("    (void)checksum;\n    return 0; /* this inference has no outputs that could be compared */\n")
    return code(
        "    uint32_t crc = 0;\n${outputs}    return crc == $crc ? 0 : 1;\n",
        outputs=library.example.outputs,
        crc=hexadecimal(golden.crc32),
    )


def model_name(library: Library) -> CCode:
    """The name of the first model, the prefix of its functions."""
    return identifier(library.model.graph.name)


def check_no_file(library: Library, kind: str) -> None:
    """Checks that a library needs no file of weights, which a package of this kind has no place for.

    Raises:
        InputError: it reads weights from slow memory.
    """
    if library.example.reads_file:
        raise InputError(
            f"{library.model.graph.source}: the weights are in slow memory, and the example of a package of the kind {kind} "
            "has no file that holds them. Take --package cmake, or leave --weights read: out."
        )
