"""What makes a library usable as it is: a `CMakeLists.txt` and an `example_main.c`."""

from collections.abc import Sequence

from kibi.codegen.bindings import Bindings


def cmake_lists(library: str, sources: Sequence[str], command: str) -> str:
    """A build file with the library and the example."""
    listed = "\n".join(f"  {source}" for source in sorted(sources))
    return f"""# {command}
cmake_minimum_required(VERSION 3.13)
project({library} C)

add_library({library} STATIC
{listed})
target_include_directories({library} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
set_target_properties({library} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)

add_executable({library}_example example_main.c)
target_link_libraries({library}_example PRIVATE {library})
"""


def example_main(b: Bindings) -> str:
    """A program that runs a model once on inputs of zeros and prints its first output."""
    name, upper = b.prefix, b.prefix.upper()
    output = b.graph.tensors[b.graph.outputs[0]].type.dtype
    convert, form = ("(double)", "%g") if output.c == "float" else ("(int)", "%d")
    return f"""#include <stdio.h>
#include <string.h>

#include "{name}.h"

{_memory(b)}
int main(void)
{{
    {name}_t model;
{_begin(b)}{_hand_over(b)}    if ({name}_invoke(&model) != KIBI_OK) {{
        return 1;
    }}
    const {output.c} *const output = (const {output.c} *){name}_output(&model, 0);
    for (unsigned i = 0; i < {upper}_OUTPUT_0_ELEMENTS; ++i) {{
        printf("{form}\\n", {convert}output[i]);
    }}
    return 0;
}}
"""


def _words(name: str, size: str, size_bytes: int) -> str:
    """An array for so many bytes; C has no arrays of none."""
    return f"static uint64_t {name}[({size} + 7u) / 8u];\n" if size_bytes else f"static uint64_t {name}[1];\n"


def _memory(b: Bindings) -> str:
    """Static memory for everything: words, because they are aligned."""
    upper = b.prefix.upper()
    text = "/* The caller owns all memory; words align it. */\n"
    for use in b.regions:
        text += _words(use.name, f"{upper}_REGION_{use.name.upper()}_BYTES", use.used_bytes)
    text += "" if b.regions else _words("arena", f"{upper}_ARENA_BYTES", b.plan.arena_bytes)
    for number, index in enumerate(b.supplied):
        size_bytes = b.graph.tensors[index].type.size_bytes
        text += _words(f"supplied_{number}", f"{upper}_SUPPLIED_{number}_BYTES", size_bytes)
    return text


def _begin(b: Bindings) -> str:
    """The calls that give the model its memory."""
    name, text = b.prefix, ""
    arguments = "arena, sizeof arena"
    if b.regions:
        names = [use.name for use in b.regions]
        text += f"    void *const regions[] = {{{', '.join(names)}}};\n"
        text += f"    const size_t bytes[] = {{{', '.join(f'sizeof {each}' for each in names)}}};\n"
        arguments = "regions, bytes"
    calls = [f"{name}_init(&model, {arguments})"]
    calls += [f"{name}_supply(&model, {k}u, supplied_{k}, sizeof supplied_{k})" for k in range(len(b.supplied))]
    return text + "".join(f"    if ({call} != KIBI_OK) {{\n        return 1;\n    }}\n" for call in calls)


def _hand_over(b: Bindings) -> str:
    """Zeros for the inputs, as the plan takes them."""
    name, upper = b.prefix, b.prefix.upper()
    if not b.streams:
        note = "/* write real inputs here, before each inference */"
        return f"    memset({name}_input(&model, 0), 0, {upper}_INPUT_0_BYTES); {note}\n"
    longest = max(b.graph.tensors[index].type.row_bytes for index in b.graph.inputs)
    kind = "const void *" if b.c_type(b.graph.inputs) == "void" or len(b.graph.inputs) > 1 else ""
    row = f"({kind})row" if kind else f"(const {b.c_type(b.graph.inputs)} *)(const void *)row"
    which = "(unsigned)input, " if len(b.graph.inputs) > 1 else ""
    return f"""    static const uint64_t row[({longest}u + 7u) / 8u]; /* real rows come from a camera or a microphone */
    for (int input = {name}_expected_input(&model); input >= 0; input = {name}_expected_input(&model)) {{
        if ({name}_push_row(&model, {which}{row}) != KIBI_OK) {{
            return 1;
        }}
    }}
"""
