"""Which parts of a kernel's files a call needs: requirements of contracts, evaluated in Python."""

import ast
from collections.abc import Mapping

from kibi.dtypes import DType
from kibi.errors import InternalError
from kibi.kernels.params.contract_text import call_of, constant, parsed
from kibi.kernels.params.description import Params


def needed_parts(params: Params) -> frozenset[str]:
    """Returns the macros of the parts of a kernel's files that a call with these parameters needs."""
    integers = (DType.S32, DType.S16, DType.U32)
    numbers = {
        each.name: int(getattr(params, each.name))
        for each in params.fields
        if each.dtype in integers and not each.is_pointer
    }
    return frozenset(
        part for part, requirements in params.parts.items() if not all(_holds(each, numbers) for each in requirements)
    )


def _holds(text: str, numbers: Mapping[str, int]) -> bool:
    """True if a comparison of two expressions is true."""
    tree = parsed(text)
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        raise InternalError(f"no comparison of two expressions: {text}")
    low, high = (_computed(each, numbers) for each in (tree.left, tree.comparators[0]))
    sign = tree.ops[0]
    return low == high if isinstance(sign, ast.Eq) else low < high if isinstance(sign, ast.Lt) else low <= high


def _computed(node: ast.expr, numbers: Mapping[str, int]) -> int:
    """The value of an expression of numbers that have names."""
    if isinstance(node, ast.Name):
        return numbers[node.id]
    call = call_of(node)
    if call is not None and call[0] in ("max", "min"):
        values = [_computed(each, numbers) for each in call[1]]
        return max(values) if call[0] == "max" else min(values)
    if not isinstance(node, ast.BinOp):
        found = constant(node)
        if found is None:
            raise InternalError(f"no part of a requirement: {ast.unparse(node)}")
        return found
    left, right = _computed(node.left, numbers), _computed(node.right, numbers)
    if isinstance(node.op, ast.FloorDiv):
        return left // right
    if isinstance(node.op, ast.Mod):
        return left % right
    return {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}[type(node.op)]
