"""The generated table of ONNX's operators."""  # noqa: INP001 - a folder of documents and scripts, no package

from kibi.frontends.onnx.lowering.registry import LOWERINGS
from kibi.frontends.onnx.rewriting import REWRITTEN
from kibi.text.markdown import code_span

_NOTE = "<!-- Written by `make docs`; change docs/onnx_tables.py or the code that it reads, not this file. -->\n"


def onnx_operators_page() -> str:
    """Returns the page of ONNX's operators that are converted, from the registry."""
    held = [f"{domain}.{name}" if domain else name for domain, name in REWRITTEN]
    lines = [
        "# ONNX's operators",
        "",
        _NOTE,
        f"Kibi converts these {len(LOWERINGS) + len(held)} operators of ONNX, of opset 13 to the newest that the library",
        "`onnx` knows; the library converts older ones to opset 13. [ONNX](onnx.md) says how.",
        "",
        "- *becomes*: the [operators](operators.md) that one may become. A RESHAPE or a TRANSPOSE may come before, where",
        "  elements must be in another order, and a QUANTIZE or a DEQUANTIZE where scales differ.",
        "- *integers*: quantized inputs and outputs are computed with integers. Elsewhere integers become float32 first, and",
        "  `kibi convert` says so.",
        "",
        "| operator | becomes | integers | limits |",
        "|---|---|---|---|",
    ]
    for name, lowering in LOWERINGS.items():
        becomes = ", ".join(each if " " in each else code_span(each) for each in lowering.becomes) or "nothing"
        lines.append(f"| {code_span(name)} | {becomes} | {'yes' if lowering.integers else ''} | {lowering.limits} |")
    lines += [
        "",
        "These hold scales themselves, or multiply integers without any. They become operators between DequantizeLinear and",
        "QuantizeLinear first:",
        "",
        ", ".join(code_span(name) for name in held) + ".",
        "",
        "Where ONNX defines an operator as a function of others, such as `Attention` and `SwiGLU`, and it is not in the",
        "table, it becomes what the function says.",
        "",
    ]
    return "\n".join(lines)
