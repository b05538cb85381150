"""The pass `identity`: operators that give back what they are given."""

from kibi.dtypes import DType
from kibi.ir import Graph, Site
from kibi.ops import Pad, Quantize, is_custom
from kibi.ops.windows.pooling import Pool2D
from kibi.passes.change import Change
from kibi.passes.rewriting import Draft, Edit, apply, bypass, same_type
from kibi.passes.tables import IDENTITY, tables_of

NAME = "identity"


def drop_identities(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """The graph without operators that change no element; and what was done.

    An addition of zeros, a multiplication by ones or an activation is one where it maps each of the 256 values to itself; a
    padding by nothing and a pooling of single elements are. Input and output must have the same shape and scale.
    """
    return apply(graph, NAME, _rule)


def _rule(graph: Draft, place: int) -> tuple[Edit, str] | None:
    site = graph.site(place)
    source = _source(graph, site)
    if source is None or not same_type(graph.tensors[source], site.output):
        return None
    reason = _reason(site)
    after = bypass(graph, place, source) if reason else None
    return None if after is None else (after, reason)


def _source(graph: Draft, site: Site) -> int | None:
    """The one input that is read by the row and is no constant; None where there are none or several."""
    found = [tensor.index for tensor in site.row_tensors if not graph.tensors[tensor.index].is_constant]
    return found[0] if len(found) == 1 else None


def _reason(site: Site) -> str:
    """Why the output equals the input; empty where it does not, or where another pass says so."""
    if is_custom(site.op):
        return ""
    if isinstance(site.op, Pad):
        return "It pads by nothing." if not site.constant("paddings").any() else ""
    if isinstance(site.op, Pool2D):
        if site.output.type.dtype is not DType.S8:
            return ""
        clamps = site.op.activation.limits(DType.S8, site.output.quantization) != DType.S8.limits
        is_one = site.op.kernel == site.op.stride == (1, 1)
        return "Its windows hold one element each." if is_one and not clamps else ""
    tables = () if isinstance(site.op, Quantize) else tables_of(site)
    if tables and all((table == IDENTITY).all() for table in tables):
        return "It maps each of the 256 values to itself."
    return ""
