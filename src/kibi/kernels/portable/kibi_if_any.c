/* IF, any type, portable: inputs into the arena of the body, one inference, outputs out of it. */
#include "kibi_if_any.h"

#include <string.h>

void kibi_if_any(void *const *outputs, const void *const *rows, const kibi_if_any_params *params, void *scratch,
                 const kibi_subgraph *const *bodies)
{
    const kibi_subgraph *const body = bodies[*(const uint8_t *)rows[0] != 0 ? 0 : 1];
    uint8_t *const arena = (uint8_t *)scratch;
    const int32_t *piece = KIBI_AT(int32_t, params, pieces);
    ++rows;
    for (int32_t i = 0; i < params->inputs; ++i, piece += 2) {
        uint8_t *to = arena + body->inputs[i];
        for (int32_t row = 0; row < piece[0]; ++row, to += piece[1]) {
            (void)memcpy(to, *rows++, (size_t)piece[1]);
        }
    }
    const int status = body->run(body, arena);
    for (int32_t i = 0; i < params->outputs; ++i) {
        (void)memcpy(outputs[i], arena + body->outputs[i], (size_t)piece[i]);
    }
    arena[0] = status != 0;
}
