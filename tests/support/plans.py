"""Plans that tests share: a model that many tests plan with the same options is planned once in each process.

A plan is a pure function of the model and of the options, and it is frozen, so tests cannot tell one from another. The tests of the
planner itself plan anew each time.
"""

import hashlib
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from kibi.ir import Graph
from kibi.planner import Plan, planning
from kibi.targets import Target

_ANEW = ("tests/planner/", "tests/sweeps/")


@contextmanager
def shared_plans() -> Iterator[None]:
    """Lets all that plans in this process share plans, until the end of the block."""
    plan, kept = planning.plan, dict[bytes, Plan]()

    def planned(graph: Graph, target: Target, **options: Any) -> Plan:
        is_anew = os.environ.get("PYTEST_CURRENT_TEST", "").startswith(_ANEW)
        if is_anew or options.get("watch") is not None or options.get("seconds") is not None:
            return plan(graph, target, **options)
        try:
            # A copy has none of what the graph has computed since it was made.
            key = hashlib.sha256(pickle.dumps((replace(graph), target, sorted(options.items())))).digest()
        except (pickle.PicklingError, AttributeError, TypeError):  # of an operator that a test defines
            return plan(graph, target, **options)
        if key not in kept:
            kept[key] = plan(graph, target, **options)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        for module in tuple(sys.modules.values()):
            if getattr(module, "__dict__", {}).get("plan") is plan:
                patch.setattr(module, "plan", planned)
        yield
