"""Every figure: valid SVG, the same bytes again, no overlapping text, whatever the rows hold."""

import hashlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from autotune.report.aggregates import CountedRow, select_counted
from autotune.report.figures.gap_distribution import (
    LEAST_SHAPES,
    build_gap_distribution,
    draw_gap_distribution,
)
from autotune.report.figures.gap_rows import (
    LEAST_GAP,
    OVERVIEW_ROWS,
    PAGE_ROWS,
    build_gap_overview,
    build_gap_pages,
    build_lines,
    draw_gap_rows,
    find_right_edge,
)
from autotune.report.figures.model_check import build_model_check, draw_model_check
from autotune.report.figures.style import ROLES, ReportFigure, figure_style, inline_svg
from autotune.report.figures.tile_map import (
    TileMap,
    build_tile_map,
    crop_tile_map,
    draw_tile_map,
)
from autotune.results import ResultRow
from hwmodel.plan import Template
from hwmodel.spec_io import load_hardware
from hwmodel.validation.errors_report import ErrorReport, summarise_predictions
from hwmodel.validation.measured import load_measured
from tests.autotune.report_runs import make_compared, make_plan, make_row, make_rows

SVG = "{http://www.w3.org/2000/svg}"
LONG_NAME = "a very long name of a layer that says everything twice " * 40
ODD_NAMES = (
    "$x_1 \\frac{1}{2}$ and $",
    "<script>alert('1')</script> & \"quotes\"",
    "矩阵乘法 глубокое обучение تعلم 🤖",
    "=1+1|`code`*bold*_under_",
    'fill="#1d2733" id="figure_1" url(#x) href="#y" #d55e00',
    "control \x00\x1b\u202e characters \ud800",
    LONG_NAME,
)


def counted_rows(count: int) -> tuple[CountedRow, ...]:
    return select_counted(make_rows(count))


def odd_rows() -> tuple[ResultRow, ...]:
    return tuple(
        make_row(index, make_compared(0.1 * index, resolved=bool(index % 2)), name=name)
        for index, name in enumerate(ODD_NAMES)
    )


def make_tile_map(**changes: object) -> TileMap:
    sizes = np.arange(16, 513, 16)
    heights, widths = np.meshgrid(sizes, sizes, indexing="ij")
    times = 40.0 + np.abs(heights - 128) * 0.1 + np.abs(widths - 256) * 0.05
    times[heights * widths > 256 * 256] = np.nan
    tile_map = TileMap(
        name="some shape",
        base_m=sizes,
        base_n=sizes,
        best_us=times,
        baseline=make_plan(256, 256),
        baseline_us=60.0,
        best=make_plan(128, 256),
        best_us_found=40.0,
        gap_ratio=0.5,
        quick=True,
    )
    return replace(tile_map, **changes)  # type: ignore[arg-type]


def make_errors() -> ErrorReport:
    rows = load_measured()
    predicted = [row.duration_us * (0.8 + row.index % 5 * 0.1) for row in rows]
    return summarise_predictions(load_hardware("ascend950pr-9589"), rows, predicted)


def find_overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts of a figure whose boxes overlap, and texts that leave the figure."""
    figure.draw_without_rendering()
    shown = [
        text
        for text in figure.findobj(Text)
        if isinstance(text, Text) and text.get_text() and text.get_visible()
    ]
    names = [text.get_text() for text in shown]
    boxes = np.array([text.get_window_extent().shrunk(1.0, 0.8).extents for text in shown])
    low, high = boxes[:, :2], boxes[:, 2:]
    touching = (low[:, None] < high[None]).all(axis=2)
    pairs = np.argwhere(np.triu(touching & touching.T, k=1))
    width, height = figure.bbox.width, figure.bbox.height
    leaving = (low < 0.0).any(axis=1) | (high > (width, height)).any(axis=1)
    return [(names[one], names[two]) for one, two in pairs] + [
        (names[place], "the edge") for place in np.flatnonzero(leaving)
    ]


def draw_rows(items: Sequence[CountedRow]) -> Figure:
    lines = build_lines(items)
    return draw_gap_rows(lines, find_right_edge(lines))


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda: draw_rows(counted_rows(210)), id="210 rows"),
        pytest.param(lambda: draw_rows(counted_rows(12)), id="12 rows"),
        pytest.param(lambda: draw_rows(counted_rows(1)), id="1 row"),
        pytest.param(lambda: draw_rows(select_counted(odd_rows())), id="odd names"),
        pytest.param(lambda: draw_gap_distribution(counted_rows(210)), id="distribution"),
        pytest.param(lambda: draw_tile_map(make_tile_map()), id="tile map"),
        pytest.param(lambda: draw_model_check(make_errors().open_rows), id="model check"),
    ],
)
def test_no_text_overlaps(draw: Callable[[], Figure]) -> None:
    with figure_style():
        assert find_overlaps(draw()) == []


def test_the_overlap_check_finds_overlaps() -> None:
    with figure_style():
        figure = draw_rows(counted_rows(12))
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height * 0.3)
        assert find_overlaps(figure)


def build_all(items: Sequence[CountedRow]) -> list[ReportFigure]:
    figures = [
        build_gap_overview(items),
        build_gap_distribution(items),
        build_model_check(make_errors(), "pipeline", "Ascend950PR_9589", fitted=True),
    ]
    return [
        *(figure for figure in figures if figure is not None),
        *build_gap_pages(items),
        build_tile_map(make_tile_map(name=items[0].row.name)),
    ]


@pytest.mark.parametrize("count", [1, 12, 60])
def test_figures_are_valid_svg_with_words_for_those_who_do_not_see_them(count: int) -> None:
    for figure in build_all(counted_rows(count)):
        root = ElementTree.fromstring(figure.svg)
        assert root.tag == f"{SVG}svg"
        assert root.findtext(f"{SVG}title") == figure.title
        assert root.findtext(f"{SVG}desc") == figure.alt
        assert figure.caption


def test_odd_names_stay_text() -> None:
    items = select_counted(odd_rows())
    overview = build_gap_overview(items)
    assert overview is not None
    texts = [text.text or "" for text in ElementTree.fromstring(overview.svg).iter(f"{SVG}text")]
    for name in ODD_NAMES[:4]:
        assert name in texts
    assert not any(LONG_NAME[:60] in text for text in texts)
    inline = ElementTree.fromstring(inline_svg(overview))
    assert [text.text or "" for text in inline.iter(f"{SVG}text")] == texts


def test_inline_figures_have_their_own_ids_and_follow_the_theme() -> None:
    one, two = build_all(counted_rows(12))[:2]
    ids = [
        [node.get("id") for node in ElementTree.fromstring(inline_svg(figure)).iter()]
        for figure in (one, two)
    ]
    first, second = ({name for name in names if name} for names in ids)
    assert first
    assert first.isdisjoint(second)
    svg = inline_svg(one)
    assert not any(colour in svg for colour in ROLES)
    root = ElementTree.fromstring(svg)
    labels = (root.get("aria-labelledby") or "").split()
    assert root.get("role") == "img"
    assert set(labels) <= first
    targets = {node.get("{http://www.w3.org/1999/xlink}href") for node in root.iter()} - {None}
    assert targets
    assert {target[1:] for target in targets if target} <= first


def compute_digest(count: int) -> str:
    text = "".join(figure.svg for figure in build_all(counted_rows(count)))
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_same_data_give_the_same_bytes_in_another_process() -> None:
    program = (
        "from tests.autotune.test_report_figures import compute_digest\nprint(compute_digest(12))"
    )
    answer = subprocess.run(
        (sys.executable, "-c", program),
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONHASHSEED": "1", "MPLBACKEND": "svg"},
    )
    assert answer.stdout.strip() == compute_digest(12)
    assert "date" not in build_all(counted_rows(1))[0].svg


def test_users_settings_of_matplotlib_do_not_matter() -> None:
    import matplotlib as mpl

    plain = build_gap_distribution(counted_rows(12))
    with mpl.rc_context({"axes.grid": True, "font.size": 30.0, "axes.facecolor": "red"}):
        assert build_gap_distribution(counted_rows(12)) == plain


def test_long_lists_continue_on_pages_as_long_as_there_is_a_gap_to_see() -> None:
    assert build_gap_pages(counted_rows(OVERVIEW_ROWS)) == ()
    items = counted_rows(210)
    visible = sum(item.compared.gap_ratio >= LEAST_GAP for item in items)
    pages = build_gap_pages(items)
    assert len(pages) == -(-(visible - OVERVIEW_ROWS) // PAGE_ROWS)
    assert f"Shapes {OVERVIEW_ROWS + 1} to " in pages[0].caption
    assert f" to {visible} of {len(items)}," in pages[-1].caption
    below = f"{len(items) - visible} shapes with a gap below 0.1 % are not drawn"
    assert [below in page.caption for page in pages] == [False] * (len(pages) - 1) + [True]
    overview = build_gap_overview(items)
    assert overview is not None
    assert f"the {OVERVIEW_ROWS} largest gaps of {len(items)}" in overview.caption


def test_rows_without_a_gap_to_see_have_no_page() -> None:
    rows = tuple(make_row(index, make_compared(0.0009)) for index in range(OVERVIEW_ROWS + 5))
    assert build_gap_pages(select_counted(rows)) == ()


def test_few_gaps_are_no_distribution() -> None:
    assert build_gap_distribution(counted_rows(LEAST_SHAPES - 1)) is None
    rows = tuple(make_row(index, make_compared(0.1)) for index in range(LEAST_SHAPES))
    assert build_gap_distribution(select_counted(rows)) is not None


def test_one_shape_has_a_caption_in_the_singular() -> None:
    overview = build_gap_overview(select_counted((make_row(0, make_compared(0.1)),)))
    assert overview is not None
    assert overview.caption.startswith("The row is the shape.")
    assert overview.alt == "Dot plot of one shape with a gap of +10.0 %."


def test_shapes_without_a_roofline_have_no_row() -> None:
    rows = (make_row(0, make_compared(0.5, roofline_us=0.0)), make_row(1, make_compared(0.1)))
    lines = build_lines(select_counted(rows))
    assert [line.gap for line in lines] == ["+10.0 %"]
    assert build_gap_overview(select_counted(rows[:1])) is None
    assert build_gap_distribution(()) is None


@pytest.mark.parametrize("ratio", [1.0001, 1.2, 7.0, 90.0, 4e6])
def test_any_distance_from_the_roofline_has_readable_ticks(ratio: float) -> None:
    row = make_row(0, make_compared(0.0, best_us=ratio, roofline_us=1.0))
    with figure_style():
        assert find_overlaps(draw_rows(select_counted((row,)))) == []


@pytest.mark.parametrize("gap", [0.0, 1e-9, 0.004, 30.0, 5000.0])
def test_any_gap_has_a_distribution(gap: float) -> None:
    items = select_counted((make_row(0, make_compared(gap)), make_row(1, make_compared(0.0))))
    with figure_style():
        assert find_overlaps(draw_gap_distribution(items)) == []


def test_the_tile_map_is_cut_to_where_something_happens() -> None:
    sizes = np.arange(16, 513, 16)
    times = np.full((32, 32), 400.0)
    times[5:9, 7:11] = 60.0
    times[7, 9] = 40.0
    full = make_tile_map(
        best_us=times, baseline=make_plan(144, 160), best=make_plan(128, 160), baseline_us=60.0
    )
    shown = crop_tile_map(full)
    assert shown.base_m.tolist() == sizes[4:10].tolist()
    assert shown.base_n.tolist() == sizes[6:12].tolist()
    assert (shown.best_us == times[4:10, 6:12]).all()
    far = crop_tile_map(replace(full, baseline=make_plan(16, 512)))
    assert far.base_m.tolist() == sizes[0:10].tolist(), "the vendor's mark stays in sight"
    assert far.base_n.tolist() == sizes[6:32].tolist()
    outside = crop_tile_map(replace(full, baseline=make_plan(1024, 160)))
    assert outside.base_m.tolist() == shown.base_m.tolist()
    assert "Cut to the tiles around those within +100.0 %" in build_tile_map(full).caption
    flat = make_tile_map(best_us=np.full((32, 32), 40.0))
    assert "Cut to" not in build_tile_map(flat).caption


def test_tile_maps_of_one_tile_and_of_other_templates() -> None:
    single = make_tile_map(base_m=np.array([16]), base_n=np.array([16]), best_us=np.array([[4.0]]))
    with figure_style():
        assert find_overlaps(draw_tile_map(single)) == []
    figure = build_tile_map(make_tile_map(best=make_plan(64, 64, template=Template.A_FULL)))
    assert "the best plan is of the template A full load" in figure.caption
    assert "is of the template" not in build_tile_map(make_tile_map()).caption


def test_tile_maps_name_the_space_that_they_cover() -> None:
    assert "block orders, with the rest" in build_tile_map(make_tile_map()).caption
    assert "all steps, buffers" in build_tile_map(make_tile_map(quick=False)).caption


def test_model_check_of_a_single_kernel_and_of_a_wide_range() -> None:
    spec = load_hardware("ascend950pr-9589")
    rows = [row for row in load_measured() if not row.locked][:1]
    for predicted in (1e-3, rows[0].duration_us, 1e6):
        report = summarise_predictions(spec, rows, [predicted])
        with figure_style():
            assert find_overlaps(draw_model_check(report.open_rows)) == []
        figure = build_model_check(report, "pipeline", "Ascend950PR_9589", fitted=False)
        assert figure is not None
        assert ("Errors beyond 100.0 % are drawn there" in figure.caption) == (predicted > 1e5)


def test_kernels_held_back_are_not_drawn_one_by_one() -> None:
    errors = make_errors()
    figure = build_model_check(errors, "pipeline", "Ascend950PR_9589", fitted=True)
    assert figure is not None
    assert f"Two scatter plots of {len(errors.open_rows)} measured kernels" in figure.alt
    assert len(errors.open_rows) < len(errors.rows)
    locked = [row for row in load_measured() if row.locked]
    spec = load_hardware("ascend950pr-9589")
    unseen = summarise_predictions(spec, locked, [row.duration_us for row in locked])
    assert build_model_check(unseen, "pipeline", "Ascend950PR_9589", fitted=True) is None
