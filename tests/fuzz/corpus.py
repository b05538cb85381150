"""The sound files that mutations start from: drawn models of every operator and of networks, and the model that Kibi ships."""

from collections.abc import Sequence
from functools import cache

from kibi.demo import model_path
from tests.frontends.models import MODELS
from tests.support.choices import Seeded
from tests.support.network_models import network
from tests.support.operator_models import OPERATOR_MODELS

_OF_EACH = 4
_NETWORKS = 40
_FAR = 7_919
"""Between the seeds of one operator's models, so that they share nothing."""


@cache
def corpus() -> Sequence[bytes]:
    """A few hundred small models, always the same."""
    drawn = [draw(Seeded(_FAR * k)).model for draw in OPERATOR_MODELS.values() for k in range(_OF_EACH)]
    networks = [network(Seeded(_FAR * k)).model for k in range(_NETWORKS)]
    return (*drawn, *networks, *(make() for make in MODELS.values()), model_path().read_bytes())
