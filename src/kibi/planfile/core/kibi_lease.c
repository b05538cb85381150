/* Leases: the word that says whose the bytes of an arena are. */
#include "kibi_lease.h"

#include "kibi_runs.h"

#define INPUT_BITS 16u

/* Returns the bits in which the word differs from this model's number, and sets `*word` to the word's address. While the bytes are
 * this model's, these are the bits of the inputs that were handed over, and no others. The file's digest is part of the number: it
 * tells models apart that one struct held one after the other. */
static KIBI_NOINLINE uint32_t differs(const kibi_model *model, uint32_t **word)
{
    const kibi_file_header *const header = kibi_header_of(model);
    const uint32_t digest = *(const uint32_t *)(const void *)(model->file + header->file_bytes - 32u);
    *word = (uint32_t *)(void *)(model->arena - KIBI_LEAD_BYTES(header));
    return **word ^ (uint32_t)(uintptr_t)model * 2654435761u ^ digest; /* an odd factor spreads addresses over all bits */
}

/* Returns a bit for each input that the caller writes into the arena; from the 17th on, inputs share bits. Sets `*of_index` to the
 * bit of input `index`, or to 0 if the caller does not write it there. */
static KIBI_NOINLINE uint32_t bits_of(const kibi_model *model, unsigned index, uint32_t *of_index)
{
    const kibi_file_header *const header = kibi_header_of(model);
    const kibi_file_port *const ports = (const kibi_file_port *)(const void *)(model->file + header->ports);
    uint32_t every = 0;
    *of_index = 0;
    for (uint32_t k = 0; k < header->input_count; ++k) {
        if (ports[k].memory == KIBI_MEMORY_ARENA) {
            const uint32_t bit = 1u << k % INPUT_BITS;
            every |= bit;
            *of_index = k == index ? bit : *of_index;
        }
    }
    return every;
}

void kibi_lease_hand_over(kibi_model *model, unsigned index)
{
    uint32_t bit, *word;
    const uint32_t every = bits_of(model, index, &bit);
    uint32_t lease = differs(model, &word);
    if (bit == 0) {
        return;
    }
    if ((lease & ~every) != 0) {
        kibi_model_rewind(model);
        *word ^= lease;
        lease = 0;
    }
    *word ^= bit & ~lease;
}

void kibi_lease_take(const kibi_model *model)
{
    uint32_t bit, *word;
    const uint32_t every = bits_of(model, 0, &bit);
    const uint32_t lease = differs(model, &word);
    *word ^= lease ^ every;
}

int kibi_lease_holds(const kibi_model *model)
{
    uint32_t bit, *word;
    return differs(model, &word) == bits_of(model, 0, &bit);
}

int kibi_lease_begins(const kibi_model *model)
{
    uint32_t bit;
    if ((model->place.run | model->place.done) == 0 && bits_of(model, 0, &bit) == 0) {
        kibi_lease_take(model);
    }
    return kibi_lease_holds(model);
}
