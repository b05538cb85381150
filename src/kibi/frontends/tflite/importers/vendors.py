"""Custom operators with which a vendor's compiler replaces parts of a model: no other software runs them."""

from collections.abc import Mapping

_VENDORS: Mapping[str, tuple[str, str]] = {
    "ethos-u": ("code for an Arm Ethos-U, which Vela put in place of operators", "Use the model as it was before Vela"),
    "edgetpu-custom-op": (
        "code for a Coral Edge TPU, which its compiler put in place of operators",
        "Use the model as it was before edgetpu_compiler",
    ),
}
_XMOS = (
    "an operator of XMOS's xcore, which xmos-ai-tools put in place of others",
    "Use the model as it was before them",
)


def vendor_of(code: str) -> tuple[str, str] | None:
    """Returns what a custom operator of that code is, and what to do; None if it belongs to no known vendor."""
    return _XMOS if code.startswith("XC_") else _VENDORS.get(code)
