"""C text of what a paused inference keeps: which bytes are free to lend, and checkpoints that survive the loss of power."""

from kibi.codegen import lease_c, slices_c
from kibi.codegen.c_text import integer_type
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.events_c import fail, refuse, report
from kibi.codegen.memory_c import region_names, region_sizes, starts
from kibi.eager.inference_events import CheckpointRead, CheckpointWritten
from kibi.planner.lives import Life, every_life, lives, saved_bytes
from kibi.text.c import CCode, code, comment, filled, hexadecimal, word

KERNELS = frozenset({"kibi_newest_slot"})
"""The functions in C that checkpoints need, and what these need."""
HEAD_BYTES = 20
"""`sizeof (kibi_slot_head)`."""
_ABOUT = (
    "The bytes of the arena and their lives, ascending by offset: they hold something while `made` steps or more have run, and "
    "fewer than half of `end`. An odd `end` marks scratch, which keeps nothing from step to step."
)


def _lives(b: EmitContext) -> tuple[tuple[Life, ...], ...]:
    """The lives of the bytes of each region, or of the arena."""
    return tuple(lives(b.graph, b.plan, region) for region in region_names(b))


def most_bytes(b: EmitContext) -> int:
    """The most bytes that a checkpoint has after its head."""
    return b.variable_bytes + max(saved_bytes(every_life(b.graph, b.plan), len(b.plan.steps)))


def macros(b: EmitContext) -> CCode:
    """The macro with the size of a slot; nothing without checkpoints."""
    if not b.extras.checkpoints:
        return code("")
    return code(
        "#define ${upper}_CHECKPOINT_BYTES ${bytes}u /* of each of the two slots, at most */\n",
        upper=b.upper,
        bytes=HEAD_BYTES + most_bytes(b),
    )


def declarations(b: EmitContext) -> CCode:
    """The declarations of what is there for pauses."""
    found = code("")
    if b.extras.spare:
        found += code(
            """
/* The largest run of bytes of the arena that stays free while the next `steps` row steps run; with 0, until the next call that
 * computes. 0 bytes where none is. Before an inference begins, all bytes but those of the inputs are free: read outputs first. */
kibi_status ${name}_spare(const ${name}_t *model, uint32_t steps, void **from, size_t *bytes);
""",
            name=b.prefix,
        )
    if b.extras.checkpoints:
        found += code(
            """
/* Saves what is needed to go on from here, at most ${upper}_CHECKPOINT_BYTES, into the older one of two slots.
 * KIBI_ERROR_STORAGE if your function failed: the other slot is as it was. */
kibi_status ${name}_checkpoint(${name}_t *model, const kibi_slots *slots);

/* Restores the newest checkpoint that is complete: ${name}_run_for goes on from there. KIBI_ERROR_CHECKPOINT if neither slot has
 * one of this model with this plan: the next inference begins anew. */
kibi_status ${name}_resume(${name}_t *model, const kibi_slots *slots);
""",
            name=b.prefix,
            upper=b.upper,
        )
    return found


def definitions(b: EmitContext, ready: CCode) -> CCode:
    """The table of lives and the functions that read it; nothing where none is asked for.

    Args:
        b: what is written.
        ready: the checks with which every call begins.
    """
    if not b.extras.counts:
        return code("")
    parts = [_table(b)]
    parts += [_spare(b, ready)] if b.extras.spare else []
    parts += [_moved(b), _checkpoint(b, ready), _resume(b, ready)] if b.extras.checkpoints else []
    return code("\n").join(parts)


def _table(b: EmitContext) -> CCode:
    found, ends = [], []
    for size_bytes, region in zip(region_sizes(b), _lives(b), strict=True):
        found += [(life.offset, life.size_bytes, life.made, 2 * life.end + life.is_scratch) for life in region]
        if b.extras.spare:  # the end of the arena, which lives always
            found.append((size_bytes, 0, 0, 2 * len(b.plan.steps) + 3))
        ends.append(len(found))
    divided = code("")
    if len(ends) > 1:
        divided = code(
            "\n/* The regions' parts of it: where each ends. */\nstatic const $kind plan_region_ends[$count] = {$ends};\n",
            kind=integer_type(ends),
            count=len(ends),
            ends=code(", ").join(code("$end", end=end) for end in ends),
        )
    return code(
        """\
${about}typedef struct {
    $kind offset, bytes, made, end;
} plan_life;

static const plan_life plan_lives[$count] = {
${entries}
};
$divided""",
        about=comment(_ABOUT if len(ends) == 1 else f"{_ABOUT} One region follows the other."),
        kind=integer_type([number for each in found for number in each]),
        count=len(found),
        entries=filled([code("{$a, $b, $c, $d}", a=a, b=b_, c=c, d=d) for a, b_, c, d in found]),
        divided=divided,
    )


def _is_divided(b: EmitContext) -> bool:
    return len(region_names(b)) > 1


def _entries(b: EmitContext) -> int:
    """The number of entries of the table."""
    return sum(map(len, _lives(b))) + len(region_names(b)) * b.extras.spare


def _next_region(b: EmitContext, reset: CCode) -> CCode:
    """The statements with which a loop over the table comes to the next region; nothing where there is one."""
    if not _is_divided(b):
        return code("")
    return code(
        """\
        while (i == (uint32_t)plan_region_ends[region]) {
            ++region;
${reset}        }
""",
        reset=reset,
    )


def _first_region(b: EmitContext) -> CCode:
    """The statement before such a loop."""
    return code("    uint32_t region = 0u;\n") if _is_divided(b) else code("")


def _start(b: EmitContext, region: str) -> CCode:
    """The pointer to the first byte of the region of that number, by the name of a variable."""
    return code("model->memory[$region]", region=word(region)) if _is_divided(b) else starts(b)[0]


def _spare(b: EmitContext, ready: CCode) -> CCode:
    return code(
        """\
kibi_status ${name}_spare(const ${name}_t *model, uint32_t steps, void **from, size_t *bytes)
{
${checks}    const uint32_t now = (uint32_t)model->done, left = ${steps}u - now;
    const uint32_t until = now + (steps < left ? steps : left);
    uint32_t reach = 0u, first = 0u, most = 0u;
${region}    for (uint32_t i = 0; i < ${count}u; ++i) {
        const plan_life life = plan_lives[i];
        const uint32_t offset = (uint32_t)life.offset, end = offset + (uint32_t)life.bytes;
${next}        if ((uint32_t)life.made > until || (uint32_t)life.end >> 1 <= now) {
            continue;
        }
        if (offset > reach && offset - reach > most) {
            first = reach;
            most = offset - reach;
${where}        }
        reach = end > reach ? end : reach;
    }
    *from = $start + first;
    *bytes = most;
    return KIBI_OK;
}
""",
        name=b.prefix,
        checks=ready + refuse(code("from == NULL || bytes == NULL"), "KIBI_ERROR_NULL") + lease_c.check_pause(b),
        steps=len(b.plan.steps),
        region=_first_region(b) + (code("    uint32_t where = 0u;\n") if _is_divided(b) else code("")),
        count=_entries(b),
        next=_next_region(b, code("            reach = 0u;\n")),
        where=code("            where = region;\n") if _is_divided(b) else code(""),
        start=_start(b, "where"),
    )


def _moved(b: EmitContext) -> CCode:
    """The function that writes or reads what a checkpoint has after its head."""
    state = code("")
    if b.variables:
        state = code(
            "    failed |= ${name}_move(slots, slot, head, is_written, (uint8_t *)(void *)model->state, ${bytes}u);\n",
            name=b.prefix,
            bytes=b.variable_bytes,
        )
    return code(
        """\
/* Writes or reads some bytes, and adds them to the sum. */
static int ${name}_move(const kibi_slots *slots, unsigned slot, kibi_slot_head *head, int is_written, uint8_t *data,
                        uint32_t bytes)
{
    const uint32_t at = (uint32_t)sizeof *head + head->bytes;
    const int failed = is_written != 0 ? slots->write(slots->context, slot, at, data, bytes)
                                       : slots->read(slots->context, slot, at, data, bytes);
    head->crc = kibi_crc32(head->crc, data, bytes);
    head->bytes += bytes;
    return failed;
}

/* Writes or reads all that lives at the place of the inference; fills in the head. Not 0 if one of your functions failed. */
static int ${name}_move_all(${name}_t *model, const kibi_slots *slots, unsigned slot, kibi_slot_head *head, int is_written)
{
    int failed = 0;
    head->place = (uint32_t)model->done;
    head->bytes = 0u;
    head->crc = 0u;
${state}${region}    for (uint32_t i = 0; i < ${count}u; ++i) {
        const plan_life life = plan_lives[i];
${next}        if ((uint32_t)life.made <= head->place && head->place < (uint32_t)life.end >> 1 && ((uint32_t)life.end & 1u) == 0u) {
            failed |= ${name}_move(slots, slot, head, is_written, $start + life.offset, (uint32_t)life.bytes);
        }
    }
    head->crc = kibi_crc32(head->crc, head, (uint32_t)offsetof(kibi_slot_head, crc));
    return failed;
}
""",
        name=b.prefix,
        state=state,
        region=_first_region(b),
        count=_entries(b) if _is_divided(b) else sum(map(len, _lives(b))),
        next=_next_region(b, code("")),
        start=_start(b, "region"),
    )


def _checkpoint(b: EmitContext, ready: CCode) -> CCode:
    return code(
        """\
kibi_status ${name}_checkpoint(${name}_t *model, const kibi_slots *slots)
{
${checks}    kibi_slot_head head;
    head.identity = $identity;
    if (model->sequence == 0u && kibi_newest_slot(slots, head.identity, ${most}u, &head) >= 0) {
        model->sequence = head.sequence;
    }
    head.sequence = model->sequence + (model->sequence == UINT32_MAX ? 3u : 1u); /* never 0, and the other slot */
    const unsigned slot = head.sequence & 1u;
    if (${name}_move_all(model, slots, slot, &head, 1) != 0 ||
        slots->write(slots->context, slot, 0u, &head, (uint32_t)sizeof head) != 0) {
${storage}    }
    model->sequence = head.sequence;
${report}    return KIBI_OK;
}
""",
        name=b.prefix,
        checks=ready + _slots_given() + lease_c.check_pause(b) + _still_runs(b) + _settled(b),
        identity=hexadecimal(b.identity),
        most=most_bytes(b),
        storage=fail("KIBI_ERROR_STORAGE", 2),
        report=report(CheckpointWritten),
    )


def _resume(b: EmitContext, ready: CCode) -> CCode:
    return code(
        """\
kibi_status ${name}_resume(${name}_t *model, const kibi_slots *slots)
{
${checks}    kibi_slot_head head, found;
    const int slot = kibi_newest_slot(slots, $identity, ${most}u, &found);
    ${name}_rewind(model);
    if (slot < 0 || found.place > ${steps}u) {
${missing}    }
    (void)$skip;
    head = found;
    if (${name}_move_all(model, slots, (unsigned)slot, &head, 0) != 0 || head.crc != found.crc) {
        ${name}_rewind(model);
${storage}    }
    model->sequence = found.sequence;
${taken}${report}    return KIBI_OK;
}
""",
        name=b.prefix,
        checks=ready + _slots_given(),
        identity=hexadecimal(b.identity),
        most=most_bytes(b),
        steps=len(b.plan.steps),
        missing=fail("KIBI_ERROR_CHECKPOINT", 2),
        skip=slices_c.run_call(b, code("found.place"), skips=True),
        storage=fail("KIBI_ERROR_STORAGE", 2),
        taken=lease_c.taken(b, code("found.place")),
        report=report(CheckpointRead),
    )


def _still_runs(b: EmitContext) -> CCode:
    """The check that no operator has ended an inference on a stream, whose place then says nothing."""
    if not (b.streams and b.can_end):
        return code("")
    return refuse(code("model->is_stopped != 0"), "KIBI_ERROR_SEQUENCE")


def _settled(b: EmitContext) -> CCode:
    """The wait for a transfer that runs: a checkpoint saves its bytes, and your functions may need the same memory."""
    if not b.notes_transfers:
        return code("")
    return refuse(code("${name}_settle(model) != 0", name=b.prefix), "KIBI_ERROR_STORAGE")


def _slots_given() -> CCode:
    return refuse(code("slots == NULL || slots->write == NULL || slots->read == NULL"), "KIBI_ERROR_NULL")
