"""Shapes files: what is read, what is refused and with which words, and the round trip."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwmodel.dtypes import DType, Format
from hwmodel.errors import EXIT_BAD_INPUT, InputError
from hwmodel.problem import MAX_DIM, GemmProblem
from studies import shape_rows
from studies.shape_rows import (
    BUNDLED_DIRECTORY,
    COLUMNS,
    ShapeRow,
    bundled_lists,
    find_shapes_file,
    format_shapes,
    load_shapes,
    write_shapes,
)


def write_file(directory: Path, data: bytes | str) -> Path:
    path = directory / "s.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def refusal(directory: Path, data: bytes | str) -> str:
    """The message for these contents, the path in it cut to the file name."""
    path = write_file(directory, data)
    with pytest.raises(InputError) as caught:
        load_shapes(path)
    message = str(caught.value)
    assert caught.value.exit_code == EXIT_BAD_INPUT
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.replace(str(path), "s.csv")


def test_defaults_are_those_of_a_linear_layer_in_bf16(tmp_path: Path) -> None:
    assert load_shapes(write_file(tmp_path, "m,k,n\n16,32,48\n")) == (
        ShapeRow(index=0, name="16x32x48", problem=GemmProblem(m=16, k=32, n=48)),
    )
    default = load_shapes(tmp_path / "s.csv")[0]
    assert (default.problem.trans_a, default.problem.trans_b) == (False, True)
    assert default.problem.dtype is default.problem.out_dtype is DType.BF16
    assert default.problem.format_b is Format.ND
    assert default.problem.bias_dtype is None
    assert default.weight == 1.0


def test_every_column_in_any_order(tmp_path: Path) -> None:
    values = {
        "measured_us": "12.5",
        "phase": "decode",
        "tokens": "64",
        "tp": "8",
        "layer": "qkv",
        "model": "Some Model",
        "tag": "grouped",
        "weight": "1e-3",
        "format_b": "NZ",
        "bias": "fp32",
        "out_dtype": "fp32",
        "dtype": "fp16",
        "trans_b": "0",
        "trans_a": "1",
        "name": "the name",
        "n": "3",
        "k": "0",
        "m": "2147483647",
    }
    assert set(values) == set(COLUMNS)
    text = ",".join(values) + "\n" + ",".join(values.values()) + "\n"
    assert load_shapes(write_file(tmp_path, text)) == (
        ShapeRow(
            index=0,
            name="the name",
            problem=GemmProblem(
                m=MAX_DIM,
                k=0,
                n=3,
                trans_a=True,
                trans_b=False,
                dtype=DType.FP16,
                out_dtype=DType.FP32,
                bias_dtype=DType.FP32,
                format_b=Format.NZ,
            ),
            weight=0.001,
            tag="grouped",
            model="Some Model",
            layer="qkv",
            phase="decode",
            tp=8,
            tokens=64,
            measured_us=12.5,
        ),
    )


def test_out_dtype_follows_dtype_and_empty_cells_take_defaults(tmp_path: Path) -> None:
    text = "m,k,n,dtype,out_dtype,bias,weight,name,tp\n1,2,3,fp32,,,,,\n1,2,3,,fp32,none,0,x,1\n"
    first, second = load_shapes(write_file(tmp_path, text))
    assert (first.problem.dtype, first.problem.out_dtype) == (DType.FP32, DType.FP32)
    assert (first.name, first.weight, first.tp) == ("1x2x3", 1.0, None)
    assert (second.problem.dtype, second.problem.out_dtype) == (DType.BF16, DType.FP32)
    assert (second.name, second.weight, second.tp, second.index) == ("x", 0.0, 1, 1)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_comments_blank_lines_and_line_ends(tmp_path: Path, mark: str, end: str) -> None:
    lines = [
        "# above the header, with commas",
        "",
        " m ,\tk,  n , name",
        "  # indented comment",
        " 16 , 32 ,48,  a name  ",
        "   ",
        ",,,",
        '1,1,1, "quoted, with ""quotes"" and # "  ',
        '"2" ,3,4,"  inner  "',
    ]
    rows = load_shapes(write_file(tmp_path, mark + end.join(lines)))
    assert [(r.problem.label(), r.name) for r in rows] == [
        ("16x32x48", "a name"),
        ("1x1x1", 'quoted, with "quotes" and #'),
        ("2x3x4", "inner"),
    ]
    assert [r.index for r in rows] == [0, 1, 2]


def test_combinations_of_types_are_the_operators_matter(tmp_path: Path) -> None:
    text = "m,k,n,dtype,out_dtype,bias\n1,0,1,fp32,fp16,bf16\n"
    problem = load_shapes(write_file(tmp_path, text))[0].problem
    assert (problem.dtype, problem.out_dtype, problem.bias_dtype) == ("fp32", "fp16", "bf16")


BAD_INTEGERS = ["1e3", "4096.0", "4_096", "+5", "٤", "0x10", "12 34", "abc", "1,000", "--5"]
OUT_OF_RANGE = ["0", "-5", "2147483648", "9" * 30]


@pytest.mark.parametrize("column", ["m", "k", "n"])
@pytest.mark.parametrize("cell", BAD_INTEGERS)
def test_dimensions_are_plain_digits(tmp_path: Path, column: str, cell: str) -> None:
    cells = {"m": "1", "k": "1", "n": "1", column: f'"{cell}"'}
    message = refusal(tmp_path, "m,k,n\n1,1,1\n" + ",".join(cells.values()))
    assert message == (
        f"s.csv, line 3, column {column}: {cell!r} is not a whole number;"
        " write it in plain digits, such as 4096"
    )


@pytest.mark.parametrize("column", ["m", "k", "n"])
@pytest.mark.parametrize("cell", OUT_OF_RANGE)
def test_dimensions_have_a_range(tmp_path: Path, column: str, cell: str) -> None:
    low = 0 if column == "k" else 1
    cells = {"m": "1", "k": "1", "n": "1", column: cell}
    text = "m,k,n\n" + ",".join(cells.values())
    if cell == "0" and column == "k":
        assert load_shapes(write_file(tmp_path, text))[0].problem.k == 0
        return
    assert refusal(tmp_path, text) == (
        f"s.csv, line 2, column {column}: {cell!r} is out of range;"
        f" it must be from {low} to 2147483647"
    )


def test_long_cells_are_cut_in_messages(tmp_path: Path) -> None:
    assert refusal(tmp_path, "m,k,n\n1,2," + "7" * 9999) == (
        f"s.csv, line 2, column n: '{'7' * 40}...' is out of range;"
        " it must be from 1 to 2147483647"
    )


def test_leading_zeros_are_harmless(tmp_path: Path) -> None:
    assert load_shapes(write_file(tmp_path, "m,k,n\n0016,000,0000000000003"))[0].name == "16x0x3"


@pytest.mark.parametrize(
    ("column", "cell", "complaint"),
    [
        ("trans_a", "2", "'2' is not a flag; write 0 or 1"),
        ("trans_b", "true", "'true' is not a flag; write 0 or 1"),
        ("dtype", "int8", "'int8' is unknown; write one of fp16, bf16, fp32"),
        ("dtype", "BF16", "'BF16' is unknown; write one of fp16, bf16, fp32"),
        ("out_dtype", "none", "'none' is unknown; write one of fp16, bf16, fp32"),
        ("bias", "yes", "'yes' is unknown; write one of none, fp16, bf16, fp32"),
        ("format_b", "nd", "'nd' is unknown; write one of ND, NZ"),
        ("weight", "-1", "'-1' is not a finite number of at least 0; correct it"),
        ("weight", "nan", "'nan' is not a finite number of at least 0; correct it"),
        ("weight", "inf", "'inf' is not a finite number of at least 0; correct it"),
        ("weight", "1e999", "'1e999' is not a finite number of at least 0; correct it"),
        ("weight", "1_0", "'1_0' is not a finite number of at least 0; correct it"),
        ("weight", ".", "'.' is not a finite number of at least 0; correct it"),
        ("tp", "0", "'0' is out of range; it must be from 1 to 2147483647"),
        (
            "tokens",
            "many",
            "'many' is not a whole number; write it in plain digits, such as 4096",
        ),
        (
            "measured_us",
            "0",
            "'0' is not a finite time above 0 us; correct it or leave it empty",
        ),
        (
            "measured_us",
            "fast",
            "'fast' is not a finite time above 0 us; correct it or leave it empty",
        ),
        ("name", "a\x07b", "'a\\x07b' holds control characters; remove them"),
        ("tag", "a\u2028b", "'a\\u2028b' holds control characters; remove them"),
    ],
)
def test_wrong_cells(tmp_path: Path, column: str, cell: str, complaint: str) -> None:
    # Physical line 6: comments, blank lines and CRLF count.
    text = f"# c\r\n\r\nm,{column},k,n\r\n1,,1,1\r\n# c\r\n1,{cell},1,1\r\n"
    assert refusal(tmp_path, text) == f"s.csv, line 6, column {column}: {complaint}"


ALL_COLUMNS = ", ".join(COLUMNS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "s.csv: the file is empty; start it with a header such as m,k,n"),
        ("\n  \n# x\n", "s.csv: the file is empty; start it with a header such as m,k,n"),
        (
            "# x\nm,k,n\n\n# y\n",
            "s.csv, line 2: no rows follow the header; add one line for each shape",
        ),
        ("16,16,16\n", "s.csv, line 1: this is no header; start the file with one such as m,k,n"),
        ("m;k;n\n1;1;1", "s.csv, line 1: the cells are not separated by commas; use commas"),
        ("m\tk\tn\n", "s.csv, line 1: the cells are not separated by commas; use commas"),
        ("m,k\n1,1", "s.csv, line 1: column n is missing; a shapes file needs m, k and n"),
        ("weight\n1", "s.csv, line 1: column m is missing; a shapes file needs m, k and n"),
        ("m,k,n,m\n1,1,1,1", "s.csv, line 1: column 'm' is given twice; remove one"),
        ("m,k,n,\n1,1,1,", "s.csv, line 1: column 4 has no name; name it or remove it"),
        ("M,k,n\n1,1,1", "s.csv, line 1: unknown column 'M'; did you mean m?"),
        (
            "m,k,n,transb\n1,1,1,1",
            "s.csv, line 1: unknown column 'transb'; did you mean trans_b?",
        ),
        (
            "m,k,n,zzz\n1,1,1,1",
            f"s.csv, line 1: unknown column 'zzz'; known are {ALL_COLUMNS}",
        ),
        (
            "m,k,n\n1,1",
            "s.csv, line 2, column n: the cell is missing; the header names 3 columns,"
            " this row has 2",
        ),
        (
            "m,k,n\n\n1,1,1,",
            "s.csv, line 3: 4 cells, but the header names 3 columns;"
            " remove the surplus or quote text that holds commas",
        ),
        ("n,m,k\n1,1,", "s.csv, line 2, column k: the cell is empty; fill it in"),
        (
            'm,k,n,name\n1,1,1,"open\n2,2,2,b\n',
            "s.csv, line 2: the quotes do not match (unexpected end of data);"
            " close each quoted cell on its line and double the quotes inside it",
        ),
        (
            'm,k,n,name\n1,1,1,"a"b\n',
            "s.csv, line 2: the quotes do not match (',' expected after '\"');"
            " close each quoted cell on its line and double the quotes inside it",
        ),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, text) == message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"m,k,n\r\r\n1,\0,1",
            "s.csv, line 3: binary data (a NUL byte); save the table as CSV in UTF-8",
        ),
        (
            "m,k,n\n".encode("utf-16"),
            "s.csv, line 1: binary data (a NUL byte); save the table as CSV in UTF-8",
        ),
        (
            b"\xef\xbb\xbfm,k,n\n\n1,1,\xff",
            "s.csv, line 3: not UTF-8 text; save the table as CSV in UTF-8",
        ),
        (
            "m,k,n,name\n1,1,1,é\n".encode("latin-1"),
            "s.csv, line 2: not UTF-8 text; save the table as CSV in UTF-8",
        ),
    ],
)
def test_binary_files(tmp_path: Path, data: bytes, message: str) -> None:
    assert refusal(tmp_path, data) == message


def test_paths_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"this is a directory; name a CSV file in it$"):
        load_shapes(tmp_path)
    with pytest.raises(InputError, match=r"none\.csv: there is no such file; check the path$"):
        load_shapes(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"\(embedded null byte\); check the path$"):
        load_shapes(Path("a\0b"))
    with pytest.raises(InputError, match=r"a\\nb: there is no such file"):
        load_shapes(Path("a\nb"))

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InputError, match=r"^x: cannot be read \(Permission denied\)"):
        load_shapes(Path("x"))


def test_would_be_formulas_survive_and_are_never_written_bare(tmp_path: Path) -> None:
    names = ["=1+1", "'=1", "''@x", "+a", "-a", "@a", "'quoted'", "plain", "<b>", 'a "b", c']
    rows = tuple(
        ShapeRow(index=i, name=name, problem=GemmProblem(m=1, k=1, n=1), tag=name, model=name)
        for i, name in enumerate(names)
    )
    path = tmp_path / "out.csv"
    write_shapes(path, rows, comments=("first", "second"))
    assert load_shapes(path) == rows
    text = path.read_text(encoding="utf-8")
    assert text == format_shapes(rows, ("first", "second"))
    assert text.startswith("# first\n# second\n" + ",".join(COLUMNS) + "\n")
    assert not any(f",{sign}" in text or f'"{sign}' in text for sign in "=+-@")


def test_numbers_are_written_short_and_lines_end_with_lf(tmp_path: Path) -> None:
    row = ShapeRow(
        index=0, name="x", problem=GemmProblem(m=1, k=2, n=3), weight=32.0, measured_us=0.1
    )
    write_shapes(tmp_path / "out.csv", [row])
    data = (tmp_path / "out.csv").read_bytes()
    assert data.split(b"\n")[1] == b"1,2,3,x,0,1,bf16,bf16,none,ND,32,,,,,,,0.1"
    assert b"\r" not in data


dimensions = st.integers(1, MAX_DIM)
texts = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=12).map(
    str.strip
)


@st.composite
def shape_rows_of_files(draw: st.DrawFn) -> tuple[ShapeRow, ...]:
    problems = st.builds(
        GemmProblem,
        m=dimensions,
        k=st.integers(0, MAX_DIM),
        n=dimensions,
        trans_a=st.booleans(),
        trans_b=st.booleans(),
        dtype=st.sampled_from(DType),
        out_dtype=st.sampled_from(DType),
        bias_dtype=st.none() | st.sampled_from(DType),
        format_b=st.sampled_from(Format),
    )
    count = draw(st.integers(1, 4))
    return tuple(
        ShapeRow(
            index=index,
            name=draw(texts.filter(bool)),
            problem=draw(problems),
            weight=draw(st.floats(0, allow_infinity=False).map(abs)),
            tag=draw(texts),
            model=draw(texts),
            layer=draw(texts),
            phase=draw(texts),
            tp=draw(st.none() | dimensions),
            tokens=draw(st.none() | dimensions),
            measured_us=draw(st.none() | st.floats(0, allow_infinity=False, exclude_min=True)),
        )
        for index in range(count)
    )


@settings(derandomize=True, deadline=None, max_examples=150)
@given(rows=shape_rows_of_files())
def test_round_trip(rows: tuple[ShapeRow, ...], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("round_trip") / "s.csv"
    write_shapes(path, rows)
    assert load_shapes(path) == rows


@settings(derandomize=True, deadline=None, max_examples=200)
@given(data=st.binary(max_size=40) | st.text("mkn,1\"# \n\r\t'=", max_size=40).map(str.encode))
def test_any_file_gives_rows_or_one_line(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "s.csv"
    path.write_bytes(b"m,k,n\n" + data)
    message = ""
    rows: tuple[ShapeRow, ...] = ()
    try:
        rows = load_shapes(path)
    except InputError as error:
        message = str(error)
    assert bool(rows) != bool(message)
    assert len(message.splitlines()) <= 1
    assert [row.index for row in rows] == list(range(len(rows)))


def test_a_file_that_exists_goes_before_a_bundled_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("llm_shapes.csv", "llm_shapes", "some/where/llm_shapes.csv"):
        found = find_shapes_file(name)
        assert found.bundled
        assert found.path == BUNDLED_DIRECTORY / "llm_shapes.csv"
    Path("llm_shapes.csv").write_text("m,k,n\n1,1,1\n")
    found = find_shapes_file("llm_shapes.csv")
    assert (found.bundled, found.path) == (False, Path("llm_shapes.csv"))
    assert find_shapes_file("llm_shapes").bundled
    assert find_shapes_file(os.curdir).path == Path(os.curdir)


def test_a_name_that_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        find_shapes_file("mine.csv")
    assert str(caught.value) == (
        "mine.csv: there is no such file; name an existing one or a bundled list"
        " (h4, h5, h6, llm_shapes, measured, quick)"
    )
    with pytest.raises(InputError, match="there is no such file"):
        find_shapes_file("x" * 5000)
    assert bundled_lists() == ("h4", "h5", "h6", "llm_shapes", "measured", "quick")
    assert shape_rows.REQUIRED_COLUMNS == ("m", "k", "n")
