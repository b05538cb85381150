/* WHILE, any type, portable: what is carried goes from the outputs into the arena of a body, and back after each iteration. */
#include "kibi_while_any.h"

#include <string.h>

/* One inference of a body, with what is carried as its inputs; not 0 where a loop inside reached its limit. */
static int run(const kibi_subgraph *body, void *const *carried, const kibi_while_any_params *params, uint8_t *arena)
{
    const int32_t *const bytes = KIBI_AT(int32_t, params, pieces) + 2 * params->inputs;
    for (int32_t i = 0; i < params->inputs; ++i) {
        (void)memcpy(arena + body->inputs[i], carried[i], (size_t)bytes[i]);
    }
    return body->run(body, arena);
}

void kibi_while_any(void *const *outputs, const void *const *rows, const kibi_while_any_params *params, void *scratch,
                    const kibi_subgraph *const *bodies)
{
    const kibi_subgraph *const condition = bodies[0], *const body = bodies[1];
    uint8_t *const arena = (uint8_t *)scratch;
    const int32_t *const bytes = KIBI_AT(int32_t, params, pieces) + 2 * params->inputs;
    KIBI_ASSERT(params->inputs == params->outputs);
    for (int32_t i = 0; i < params->inputs; ++i) {
        uint8_t *to = (uint8_t *)outputs[i];
        const int32_t row_bytes = KIBI_AT(int32_t, params, pieces)[2 * i + 1];
        for (int32_t row = 0; row < KIBI_AT(int32_t, params, pieces)[2 * i]; ++row, to += row_bytes) {
            (void)memcpy(to, *rows++, (size_t)row_bytes);
        }
    }
    for (uint32_t turns = 0;; ++turns) {
        int status = run(condition, outputs, params, arena);
        if (status == 0 && arena[condition->outputs[0]] == 0) {
            arena[0] = 0;
            return;
        }
        if (status == 0 && turns < KIBI_WHILE_LIMIT) {
            status = run(body, outputs, params, arena);
        } else {
            status = 1;
        }
        if (status != 0) {
            arena[0] = 1;
            return;
        }
        for (int32_t i = 0; i < params->outputs; ++i) {
            (void)memcpy(outputs[i], arena + body->outputs[i], (size_t)bytes[i]);
        }
    }
}
