"""What makes a library usable as it is: a `CMakeLists.txt` and an `example_main.c`."""

from collections.abc import Sequence

from kibi.ir import Graph


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


def example_main(graphs: Sequence[Graph]) -> str:
    """A program that runs the first model once on inputs of zeros and prints its first output."""
    graph = graphs[0]
    name, upper = graph.name, graph.name.upper()
    output = graph.tensors[graph.outputs[0]].type.dtype
    convert, form = ("(double)", "%g") if output.c == "float" else ("(int)", "%d")
    return f"""#include <stdio.h>
#include <string.h>

#include "{name}.h"

static uint64_t arena[({upper}_ARENA_BYTES + 7u) / 8u]; /* the caller owns all memory; words align it */

int main(void)
{{
    {name}_t model;
    if ({name}_init(&model, arena, sizeof arena) != KIBI_OK) {{
        return 1;
    }}
    memset({name}_input(&model, 0), 0, {upper}_INPUT_0_BYTES); /* write real inputs here, before each inference */
    if ({name}_invoke(&model) != KIBI_OK) {{
        return 1;
    }}
    const {output.c} *const output = (const {output.c} *){name}_output(&model, 0);
    for (unsigned i = 0; i < {upper}_OUTPUT_0_ELEMENTS; ++i) {{
        printf("{form}\\n", {convert}output[i]);
    }}
    return 0;
}}
"""
