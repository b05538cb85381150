"""The Signal operators that remember something, over several inferences, and what is refused of them all."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.errors import ModelError
from kibi.oracle import Oracle
from kibi.planner import plan
from kibi.runtime import Interpreter
from kibi.targets import target
from kibi.toolchain import Library
from tests.ops.comparison import assert_same, graph_of
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS, Case
