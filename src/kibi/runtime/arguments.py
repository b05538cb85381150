"""The arguments of an interpreter, checked by their kinds."""

from kibi.errors import InputError
from kibi.ir import check_graph
from kibi.planner import Plan


def check_kinds(model: object, plan: object, handler: object) -> None:
    """Checks the types of the arguments.

    Raises:
        InputError: one is not.
    """
    check_graph(model)
    if plan is not None and not isinstance(plan, Plan):
        raise InputError(f"the plan is {type(plan).__name__}. Give what `kibi.plan` returns, or None.")
    if handler is not None and not callable(getattr(handler, "notify", None)):
        raise InputError(f"the handler is {type(handler).__name__}, which cannot be told. Give one with `notify`.")


def check_choices(use_context: object, use_embedded_plan: object) -> None:
    """Checks that both say yes or no.

    Raises:
        InputError: one does not.
    """
    if not isinstance(use_context, bool):
        raise InputError(f"use_context is {type(use_context).__name__}. Give True or False.")
    if use_embedded_plan is not None and not isinstance(use_embedded_plan, bool):
        raise InputError(f"use_embedded_plan is {type(use_embedded_plan).__name__}. Give True, False or None.")
