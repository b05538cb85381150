"""The lines of contracts as text: which of them hold for a kernel, and what their ranges and expressions say."""

import ast
import re

from kibi.errors import InternalError
from kibi.kernels.params.description import Params

_NUMBER = r"-?\d+(?:\*\*\d+)?(?: [-+] \d+)?"
_RANGE = re.compile(rf"({_NUMBER}) (?:…|to) ({_NUMBER})")
_FOR = re.compile(r"(?:\[(?P<words>[\w! ]+)\] +)?(?P<line>.*)")


def has_contract(kind: type[Params]) -> bool:
    """True if a contract was written for a kernel's parameters; one without any line names no input."""
    return any(lines_of(kind, kernel) for kernel in kind.kernels)


def lines_of(kind: type[Params], kernel: str) -> list[str]:
    """Returns the lines that hold for a kernel, without the words that say for which they do."""
    found = (_FOR.fullmatch(line.strip()) for line in kind.contract.splitlines())
    return [each["line"] for each in found if each and each["line"] and _is_for(kernel, each["words"] or "")]


def _is_for(kernel: str, words: str) -> bool:
    """True if a kernel's name has all of the words, but none of those that have a `!` before them."""
    return all((word.lstrip("!") in kernel) != word.startswith("!") for word in words.split())


def range_of(meaning: str) -> tuple[str, str] | None:
    """Returns the range that a meaning states; None if it states none, or one that holds sometimes."""
    found = _RANGE.search(meaning)
    return None if found is None or " where " in meaning[found.end() :][:8] else (found[1], found[2])


def parsed(text: str) -> ast.expr:
    """Returns an expression, or a comparison of some."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        raise InternalError(f"no part of a contract: {text}") from None
    _Shorter().visit(tree)
    return tree.body


class _Shorter(ast.NodeTransformer):
    """Writes `a * 1` as `a`, `a - a // b * b` as `a % b`, and `a == a // b * b` as `a % b == 0`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:  # the name is Python's
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult) and constant(node.right) == 1:
            return node.left
        divisor = _divisor(node.left, node.right) if isinstance(node.op, ast.Sub) else None
        return node if divisor is None else ast.BinOp(node.left, ast.Mod(), divisor)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:  # the name is Python's
        self.generic_visit(node)
        is_equation = len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq)
        divisor = _divisor(node.left, node.comparators[0]) if is_equation else None
        if divisor is None:
            return node
        return ast.Compare(ast.BinOp(node.left, ast.Mod(), divisor), node.ops, [ast.Constant(0)])


def _divisor(number: ast.expr, multiple: ast.expr) -> ast.expr | None:
    """The divisor b if one expression is a, and the other one `a // b * b`; None otherwise."""
    if not isinstance(multiple, ast.BinOp) or not isinstance(multiple.op, ast.Mult):
        return None
    quotient, divisor = multiple.left, multiple.right
    if not isinstance(quotient, ast.BinOp) or not isinstance(quotient.op, ast.FloorDiv):
        return None
    is_same = ast.unparse(quotient.left) == ast.unparse(number) and ast.unparse(quotient.right) == ast.unparse(divisor)
    return divisor if is_same else None


def call_of(node: ast.expr) -> tuple[str, list[ast.expr]] | None:
    """Returns the name and the arguments of a function; None for any other expression."""
    return (node.func.id, node.args) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def least_of(node: ast.expr) -> list[str]:
    """Returns the names whose least one is meant: one, or those of `min(...)`; none for anything else."""
    if isinstance(node, ast.Name):
        return [node.id]
    call = call_of(node)
    if call is not None and call[0] == "min":
        names = [least_of(each) for each in call[1]]
        return [name for each in names for name in each] if all(names) else []
    return []


def constant(node: ast.expr) -> int | None:
    """Returns the value of an expression of whole numbers alone; None for any other one."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = constant(node.operand)
        return None if value is None else -value
    if not isinstance(node, ast.BinOp):
        return None
    left, right = constant(node.left), constant(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Pow):
        return left**right if 0 <= right <= 63 else None
    results = {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}
    return results.get(type(node.op))
