"""C text of the lease: a word before the arena's buffers says whose bytes they are, so that calls notice somebody else's use.

The word is a number of the model's struct while the bytes are that model's. Where several inputs are in the arena, the lowest bits
say which of them have been handed over since then, so that one which was written before somebody else's use is missed, too. Where
buffers are in regions, each region has such a word, the first one with these bits.
"""

from kibi.codegen import memory_c
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.events_c import refuse
from kibi.text.c import CCode, code, hexadecimal, lines, word

_MOST_INPUTS = 16
"""The most inputs that are told apart; with more, the word says only whose the bytes are."""
_STATUS = "KIBI_ERROR_ARENA_LEASE"
_SPREAD = 2654435761
"""An odd factor that spreads addresses over all bits of a word: 2^32 divided by the golden ratio."""


def _in_arena(b: EmitContext) -> tuple[int, ...]:
    """The numbers of the inputs that callers write into the arena."""
    return tuple(n for n, index in enumerate(b.graph.inputs) if not b.streams and b.graph.tensors[index].is_planned)


def _every(b: EmitContext) -> int:
    """The bits of all inputs; 0 where they are not told apart."""
    count = len(_in_arena(b))
    return (1 << count) - 1 if 1 < count <= _MOST_INPUTS else 0


def helpers(b: EmitContext) -> CCode:
    """The functions that read and write the word; nothing without a lease."""
    if not b.extras.lease:
        return code("")
    own = code("(uint32_t)(uintptr_t)model * ${spread}u ^ $identity", spread=_SPREAD, identity=hexadecimal(b.identity))
    first, *others = memory_c.starts(b)
    words = [
        code("    *(uint32_t *)(void *)($start - $lead) = own;\n", start=each, lead=b.lead_bytes) for each in others
    ]
    lost = [
        code("*(const uint32_t *)(const void *)($start - $lead) != own", start=each, lead=b.lead_bytes)
        for each in others
    ]
    refusal = code("")
    if lost:
        refusal = code("    if ($lost) {\n        return UINT32_MAX;\n    }\n", lost=code(" || ").join(lost))
    return code(
        """\
/* Returns the bits in which the word before the first buffer differs from this model's number. While the bytes are this
 * model's, these are the bits of the inputs that were handed over, and no others.$all */
static uint32_t ${name}_lease(const ${name}_t *model)
{
    const uint32_t *const word = (const uint32_t *)(const void *)($start - $lead);
    const uint32_t own = $own;
${refusal}    return *word ^ own;
}

/* Makes the bytes this model's. */
static void ${name}_take(${name}_t *model, uint32_t inputs)
{
    uint32_t *const word = (uint32_t *)(void *)($start - $lead);
    const uint32_t own = $own;
    *word = own ^ inputs;
${words}}
""",
        name=b.prefix,
        start=first,
        lead=b.lead_bytes,
        own=own,
        all=code(" Each region has such a word.") if others else code(""),
        refusal=refusal,
        words=lines(words),
    )


def _call(b: EmitContext, what: str) -> CCode:
    return code("${name}_$what", name=b.prefix, what=word(what))


def hand_over(b: EmitContext, number: int) -> CCode:
    """The statements with which `input` hands over one of the inputs; nothing without a lease."""
    if not b.extras.lease or number not in _in_arena(b):
        return code("")
    every = _every(b)
    bit = 1 << _in_arena(b).index(number) if every else 0
    lost = code("        if ($lease > ${every}u) {\n", lease=code("$call(model)", call=_call(b, "lease")), every=every)
    if not every and not b.extras.slices:
        return code("        $take(model, 0u);\n", take=_call(b, "take"))
    forgotten = code("            ${name}_rewind(model);\n", name=b.prefix) if b.extras.slices else code("")
    begins = lost + forgotten + code("            $take(model, 0u);\n        }\n", take=_call(b, "take"))
    if not every:
        return begins
    more = code(
        "        $take(model, $lease(model) | ${bit}u);\n", take=_call(b, "take"), lease=_call(b, "lease"), bit=bit
    )
    return begins + more


def check(b: EmitContext, *, result: CCode | None = None) -> CCode:
    """The statement that refuses to go on with bytes that are somebody else's; nothing without a lease.

    Args:
        b: what is written.
        result: what is returned; None: the status code.
    """
    if not b.extras.lease:
        return code("")
    lost = code("${name}_lease(model) != ${every}u", name=b.prefix, every=_every(b))
    return refuse(lost, _STATUS, result=result)


def begin(b: EmitContext) -> CCode:
    """The statement that takes the bytes where an inference begins without inputs in the arena; else nothing."""
    if not b.extras.lease or _in_arena(b):
        return code("")
    return code("$take(model, 0u);", take=_call(b, "take"))


def taken(b: EmitContext, place: CCode) -> CCode:
    """The statement that takes the bytes with everything in them; nothing without a lease.

    Args:
        b: what is written.
        place: the number of steps of the inference that have run.
    """
    if not b.extras.lease:
        return code("")
    begun = code("    model->has_begun = $place != 0u;\n", place=place) if b.streams else code("")
    return begun + code("    $take(model, ${every}u);\n", take=_call(b, "take"), every=_every(b))


def check_pause(b: EmitContext) -> CCode:
    """The statement that refuses a call between two steps, where the bytes are somebody else's; nothing without a lease."""
    return check_stream(b, takes=False) if b.streams else check(b)


def check_stream(b: EmitContext, *, takes: bool, result: CCode | None = None) -> CCode:
    """The statements of a call in a stream: before the first step, the bytes may be taken; later, they must be the model's.

    Args:
        b: what is written.
        takes: true if the call takes them.
        result: what is returned where they are not; None: the status code.
    """
    if not b.extras.lease:
        return code("")
    lost = code("${name}_lease(model) != 0u", name=b.prefix)
    if not takes:
        return refuse(code("model->has_begun != 0 && $lost", lost=lost), _STATUS, result=result)
    return code(
        """\
    if (model->has_begun == 0) {
        model->has_begun = 1;
        $take(model, 0u);
    }
${check}""",
        take=_call(b, "take"),
        check=refuse(lost, _STATUS, result=result),
    )


def computes_first(b: EmitContext) -> bool:
    """True if steps run before the first row of a stream is received."""
    node, _ = b.plan.steps[0]
    return not b.graph.nodes[node].op.receives
