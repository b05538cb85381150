"""The terminal picture of a memory plan."""

from dataclasses import replace

from rich.console import Console

from kibi import demo
from kibi.frontends import load
from kibi.ir import Graph
from kibi.planner import Granularity, PlannedModel, plan
from kibi.reports.memory_picture import memory_picture
from kibi.targets import target
from tests.planner.networks import by_row, chain, graph, residual

M4 = target("cortex-m4")


def _renamed(net: Graph, index: int, name: str) -> Graph:
    tensors = list(net.tensors)
    tensors[index] = replace(tensors[index], name=name)
    return replace(net, tensors=tuple(tensors))


def test_memory_picture_whole_tensors_one_line_for_each_operator() -> None:
    """Where operators run to completion there is one line for each, drawn to scale, with the peak marked."""
    net = residual(rows=6, row_bytes=100)
    text = memory_picture(PlannedModel.of(net, plan(net, M4)), width=60).plain
    assert (
        text
        == """\
net on cortex-m4
arena 1,800 bytes: proven to be the least that this order of steps allows
any order needs 1,800 bytes or more, unless outputs take the place of inputs

      bytes live 0                             1,800
  0 WINDOW 1,200 bbbbbbbbbbbbaaaaaaaaaaaa...........
  1 WINDOW 1,200 bbbbbbbbbbbb...........cccccccccccc
  2 WINDOW 1,800 bbbbbbbbbbbbdddddddddddcccccccccccc <- peak
  3 SUM    1,800 bbbbbbbbbbbbdddddddddddeeeeeeeeeeee <- peak
  4 TOTAL    700 ff.....................eeeeeeeeeeee

peak 1,800 bytes at 2 WINDOW: b 600 + c 600 + d 600

a  t0  [1, 6, 100, 1] int8  600 bytes  at 600
b  t1  [1, 6, 100, 1] int8  600 bytes  at 0
c  t2  [1, 6, 100, 1] int8  600 bytes  at 1,200
d  t3  [1, 6, 100, 1] int8  600 bytes  at 600
e  t4  [1, 6, 100, 1] int8  600 bytes  at 1,200
f  t5  [1, 100] int8        100 bytes  at 0"""
    )


def test_memory_picture_scratch_is_marked_differently() -> None:
    """Scratch is drawn as `#` and has its line in the legend."""
    net = chain(3, 3, rows=4, width=10, scratch_bytes=40)
    text = memory_picture(PlannedModel.of(net, plan(net, M4)), width=80).plain
    assert "#########" in text
    assert "#  scratch of 2 operators, the largest" in text


def test_memory_picture_by_row_is_a_map() -> None:
    """Where rows take turns time goes right and addresses go up; a letter starts the life of each row."""
    net = chain(3, 3, rows=6, width=100)
    made = plan(net, M4, runs=by_row(net))
    text = memory_picture(PlannedModel.of(net, made), width=60).plain
    lines = text.splitlines()
    assert "a letter starts the life of a row" in lines[2]
    top = next(number for number, line in enumerate(lines) if line.startswith(f" {made.arena_bytes:,} "))
    bars = [line[7:] for line in lines[top : top + 28]]
    assert {len(bar) for bar in bars} == {53}
    assert len({bar for bar in bars if "b" in bar}) > 1
    live = next(line for line in lines if line.lstrip().startswith("live "))
    assert "9" in live
    makes = next(line for line in lines if line.lstrip().startswith("output ")).split()[1]
    assert makes[0] == "b"
    assert makes[-1] == "c"
    assert "^ peak" in text
    assert max(map(len, lines[3:])) <= 60


def test_memory_picture_by_row_shows_each_row_of_a_staircase() -> None:
    """A stored input dies row by row: the higher a row lies, the longer its line."""
    net = load(demo.model_path())
    made = plan(net, M4, granularity=Granularity.ROW)
    text = memory_picture(PlannedModel.of(net, made), width=100).plain
    lengths = [len(line) - len(line.lstrip(" 0123456789,a-")) for line in text.splitlines() if " a-" in line]
    assert len(lengths) > 4
    assert len(set(lengths)) > 4


def test_memory_picture_lines_keep_the_width() -> None:
    """No line of the picture is wider than asked, long names included."""
    net = _renamed(residual(rows=6, row_bytes=100), 2, "a/very/long/name/of/a/tensor" * 5)
    for width in (80, 100, 140):
        text = memory_picture(PlannedModel.of(net, plan(net, M4)), width=width).plain
        assert max(len(line) for line in text.splitlines()) <= width


def test_memory_picture_hostile_name_steers_no_terminal() -> None:
    """Control characters in a model's names do not reach the terminal."""
    net = _renamed(chain(3), 0, "evil\x1b[2J\nname\x07")
    text = memory_picture(PlannedModel.of(net, plan(net, M4))).plain
    assert "evil?[2J?name?" in text
    assert "\x1b" not in text


def test_memory_picture_colours_only_in_a_terminal() -> None:
    """Printed by rich it has colours in a terminal and none in a pipe."""
    net = chain(3, 3)
    picture = memory_picture(PlannedModel.of(net, plan(net, M4)), width=80)
    outputs = []
    for terminal in (True, False):
        console = Console(force_terminal=terminal, width=80, color_system="truecolor" if terminal else None)
        with console.capture() as capture:
            console.print(picture)
        outputs.append(capture.get())
    assert "\x1b[" in outputs[0]
    assert outputs[1] == f"{picture.plain}\n"


def test_memory_picture_more_tensors_than_letters() -> None:
    """Letters are used again where there are more tensors than letters."""
    net = chain(*[1] * 80, rows=2, width=1)
    assert memory_picture(PlannedModel.of(net, plan(net, M4))).plain.count("\na  t") == 2


def test_memory_picture_tiny_arena() -> None:
    """An arena of fewer bytes than the bar has characters is drawn to scale all the same."""
    net = graph([(1, 1), (1, 1)], [(chain(1).nodes[0].op, (0,), 1)])
    text = memory_picture(PlannedModel.of(net, plan(net, M4)), width=80).plain
    bar = next(line for line in text.splitlines() if line.startswith("  0 WINDOW")).split()[3]
    assert abs(bar.count("a") - bar.count("b")) <= 1
