"""A slow memory that does its worst: C functions for weights that are read ahead, which spoil a window until its transfer ends."""

from pathlib import Path

import numpy as np

from kibi.codegen import Library
from kibi.text.c import array, code, identifier

_HOOK = """\
#include <stdint.h>
extern uint32_t memory_spoil(void);
#define KIBI_TICKS() memory_spoil()
#define KIBI_ON_OPERATOR memory_step
"""
_FUNCTIONS = """
#include <stdint.h>
#include <string.h>
$constant
uint32_t memory_spoil(void);
int memory_runs, memory_errors, memory_starts, memory_waits;
int memory_failing_start, memory_failing_wait; /* which of them fails; 0: none */
static uint8_t *window;
static uint32_t window_offset, window_bytes, noise = 1u;

/* While a transfer runs, gives its window new bytes, as a part of a transfer could. */
uint32_t memory_spoil(void)
{
    for (uint32_t i = 0; memory_runs != 0 && i < window_bytes; ++i) {
        noise = noise * 1664525u + 1013904223u;
        window[i] = (uint8_t)(noise >> 24);
    }
    return 0u;
}

void memory_step(int32_t number, const char *label, int32_t steps, uint32_t ticks);
void memory_step(int32_t number, const char *label, int32_t steps, uint32_t ticks)
{
    (void)number;
    (void)label;
    (void)steps;
    (void)ticks;
}

int ${name}_start(void *to, uint32_t offset, uint32_t bytes);
int ${name}_start(void *to, uint32_t offset, uint32_t bytes)
{
    const int is_wrong = memory_runs != 0 || (((uintptr_t)to | offset | bytes) & 3u) != 0u || bytes == 0u ||
                         offset > sizeof stored || bytes > sizeof stored - offset;
    if (is_wrong) {
        ++memory_errors;
        return 1;
    }
    if (++memory_starts == memory_failing_start) {
        return 7;
    }
    window = (uint8_t *)to;
    window_offset = offset;
    window_bytes = bytes;
    memory_runs = 1;
    (void)memory_spoil();
    return 0;
}

int ${name}_wait(void);
int ${name}_wait(void)
{
    if (memory_runs == 0) {
        ++memory_errors;
        return 1;
    }
    memory_runs = 0;
    if (++memory_waits == memory_failing_wait) {
        return 9;
    }
    memcpy(window, (const uint8_t *)(const void *)stored + window_offset, window_bytes);
    return 0;
}
"""


def late_weights(library: Library, folder: Path, *, hooked: bool = True) -> Path:
    """Writes the functions of a library's first model, which must read ahead, and returns their file.

    A transfer that starts while another one runs, or is waited for though none runs, counts as an error and fails. Bytes come when
    the transfer is waited for; until then each step of an operator finds others in the window.

    Args:
        library: written to the folder.
        folder: of the library.
        hooked: True to spoil windows before and after the steps of each operator, not at the start of a transfer alone.
    """
    slow, weights = library.model.plan.slow_weights, library.model.weights
    assert slow is not None
    assert slow.ahead
    head = folder / "kernels" / "kibi.h"
    text = head.read_text(encoding="utf-8")
    if hooked and not text.startswith(_HOOK):
        head.write_text(_HOOK + text, encoding="utf-8")
    constant = array(
        code("static const uint32_t stored[$count]", count=len(weights) // 4), np.frombuffer(weights, np.uint32)
    )
    path = folder / "late_weights_of_storage.c"
    name = identifier(slow.function, "the functions")
    path.write_text(_FUNCTIONS.replace("$constant", constant.text).replace("${name}", name.text), encoding="utf-8")
    return path
