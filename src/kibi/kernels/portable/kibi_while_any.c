/* WHILE, any type, portable: what is carried goes from the output into the arena of a body, and back behind each turn. */
#include "kibi_while_any.h"

#include <string.h>

/* One inference of a body, with what is carried as its inputs; not 0 where a loop inside reached its limit. */
static int run(const kibi_subgraph *body, const uint8_t *carried, const kibi_while_any_params *params, uint8_t *arena)
{
    const int32_t *piece = params->pieces + 2 * params->inputs;
    for (int32_t i = 0; i < params->inputs; ++i, piece += 2) {
        memcpy(arena + body->inputs[i], carried + piece[0], (size_t)piece[1]);
    }
    return body->run(arena);
}

void kibi_while_any(void *output, const void *const *rows, const kibi_while_any_params *params, void *scratch)
{
    uint8_t *const arena = (uint8_t *)scratch;
    uint8_t *const carried = (uint8_t *)output;
    const int32_t *const outputs = params->pieces + 2 * params->inputs;
    KIBI_ASSERT(params->inputs == params->outputs);
    for (int32_t i = 0; i < params->inputs; ++i) {
        uint8_t *to = carried + outputs[2 * i];
        const int32_t row_bytes = params->pieces[2 * i + 1];
        for (int32_t row = 0; row < params->pieces[2 * i]; ++row, to += row_bytes) {
            memcpy(to, *rows++, (size_t)row_bytes);
        }
        kibi_pad_output(carried, outputs, i, params->outputs);
    }
    for (uint32_t turns = 0;; ++turns) {
        int status = run(params->condition, carried, params, arena);
        if (status == 0 && arena[params->condition->outputs[0]] == 0) {
            arena[0] = 0;
            return;
        }
        if (status == 0 && turns < KIBI_WHILE_LIMIT) {
            status = run(params->body, carried, params, arena);
        } else {
            status = 1;
        }
        if (status != 0) {
            arena[0] = 1;
            return;
        }
        for (int32_t i = 0; i < params->outputs; ++i) {
            const int32_t *const piece = outputs + 2 * i;
            memcpy(carried + piece[0], arena + params->body->outputs[i], (size_t)piece[1]);
        }
    }
}
