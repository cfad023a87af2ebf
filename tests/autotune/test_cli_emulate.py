"""`autotune emulate` and `autotune trace` as a user meets them."""

import gzip
import json
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from autotune import emulation
from autotune.cli.problem_arguments import PROBLEM_OPTIONS
from autotune.plan_fields import change_plan
from baseline.decision import decide
from hwmodel.emulator import trace
from hwmodel.emulator.extrapolation import emulate_long
from hwmodel.emulator.result import EmulationResult
from hwmodel.emulator.trace import format_ranges
from hwmodel.plan import Template
from hwmodel.problem import GemmProblem
from hwmodel.spec_io import load_hardware
from tests.autotune.command_line import CommandLine

SHAPE = ("--m", "600", "--k", "700", "--n", "2000")
VECTOR_PLAN = (
    '{"template": "vector", "base_m": 1, "base_n": 64, "base_k": 128, "used_core_num": 5}'
)


class Terminal(CommandLine):
    """The program with `emulate` and `trace`."""

    def emulate(self, *argv: str) -> Any:
        return self.document("emulate", *SHAPE, *argv)


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setattr(emulation, "needs_compiling", lambda _: False)
    return Terminal(capsys, monkeypatch, "emulate", "trace")


def test_table(terminal: Terminal) -> None:
    code, out, err = terminal.run("emulate", *SHAPE)
    assert (code, err) == (0, "")
    assert out.startswith("600x700x2000 on ascend950pr-9589, the operator's plan\n")
    for word in ("task_duration_us", "aic_mte2_ratio", "hbm_read_bytes", "bound", "stalled by"):
        assert word in out
    assert "pipes, cycles: mean" in out
    assert max(len(line) for line in out.splitlines()) <= 115


def test_json_document(terminal: Terminal) -> None:
    document = terminal.emulate()
    assert document["is_baseline"] is True
    assert document["warnings"] == []
    assert document["hardware"] == "ascend950pr-9589"
    assert document["summary"]["task_duration_us"] > 0
    assert 0 < document["memory"]["l2_hit_ratio"] < 1
    pipes = document["pipes"]["busiest"]
    assert list(pipes) == ["MTE2", "MTE1", "CUBE", "FIXPIPE"]
    for pipe in pipes.values():
        assert pipe["stall_cycles"] == pytest.approx(sum(pipe["stalls"].values()), abs=0.1)
    assert set(document["pipes"]["mean"]) == set(pipes)


def test_options_reach_the_problem(terminal: Terminal) -> None:
    document = terminal.emulate("--trans-a", "--no-trans-b", "--dtype", "fp16", "--bias", "fp32")
    problem = document["problem"]
    assert (problem["trans_a"], problem["trans_b"]) == (True, False)
    assert (problem["dtype"], problem["bias_dtype"]) == ("fp16", "fp32")


def test_a_changed_plan_runs_on_the_cores_that_it_needs(
    terminal: Terminal, tmp_path: Path
) -> None:
    base = terminal.emulate()
    given = terminal.emulate("--plan", '{"base_m": 304, "base_n": 208, "base_k": 32}')
    assert given["is_baseline"] is False
    assert given["plan"]["base_m"] == 304
    assert given["plan"]["used_core_num"] == 20
    assert given["plan"]["step_k"] == base["plan"]["step_k"]
    path = tmp_path / "plan.json"
    path.write_text('\ufeff{"base_m": 304, "base_n": 208, "base_k": 32}\n', encoding="utf-8")
    assert terminal.emulate("--plan", str(path)) == given
    assert terminal.emulate("--plan", "{}") == base
    _, out, _ = terminal.run("emulate", *SHAPE, "--plan", str(path))
    assert "a plan of your own" in out


def test_an_impossible_tail_split_and_k_are_not_inherited(terminal: Terminal) -> None:
    shape = ("--m", "1000", "--k", "7168", "--n", "4112")
    base = terminal.emulate(*shape)
    assert base["plan"]["m_tail_cnt"] > 1
    tile = '{"base_m": 128, "base_n": 256'
    changed = terminal.emulate(*shape, "--plan", tile + "}")
    assert (changed["plan"]["m_tail_cnt"], changed["warnings"]) == (1, [])
    code, _, err = terminal.run("emulate", *shape, "--plan", tile + ', "m_tail_cnt": 9}')
    assert code == 2
    assert "m_tail_cnt" in err.splitlines()[-1]


def test_other_templates_take_what_follows_from_them() -> None:
    problem = GemmProblem(m=1000, k=7168, n=4112)
    spec = load_hardware("ascend950pr-9589")
    baseline = decide(problem, spec).plan
    stream_k = change_plan(
        problem, spec, baseline, {"template": "stream_k", "single_core_k": 3584}, "--plan"
    )
    assert (stream_k.single_core_k, stream_k.used_core_num) == (3584, 32)
    back = change_plan(problem, spec, stream_k, {"template": "aswt"}, "--plan")
    assert (back.single_core_k, back.used_core_num) == (7168, 32)
    vector = change_plan(problem, spec, baseline, {"template": "vector"}, "--plan")
    assert vector.template is Template.VECTOR


def test_illegal_plans_run_with_a_warning(terminal: Terminal) -> None:
    code, out, err = terminal.run(
        "emulate", *SHAPE, "--format", "json", "--plan", '{"base_m": 512, "base_n": 512}'
    )
    assert code == 0
    warnings = json.loads(out)["warnings"]
    assert any("must fit L0C" in warning for warning in warnings)
    assert err.splitlines() == [
        f"autotune emulate: warning: the plan is not legal: {warning}" for warning in warnings
    ]


BAD_PLANS = [
    ("{", "not JSON"),
    ('{"base_n": }', "not JSON"),
    ('{"base_n": 1e', "not JSON"),
    ('{"base_n": ' + "[" * 100_000, "not JSON"),
    ('{"base_n": ' + "1" * 5000 + "}", "not JSON"),
    ('{"base_n": 16, "base_n": 32}', "given twice"),
    ('{"basen": 192}', "'basen' is no field; use some of template, base_m"),
    ('{"base_n": "192"}', "--plan.base_n: expected int, found str"),
    ('{"base_n": true}', "--plan.base_n: expected int, found bool"),
    ('{"base_n": 192.0}', "--plan.base_n: expected int, found float"),
    ('{"base_n": NaN}', "--plan.base_n: expected int, found float"),
    ('{"base_n": null}', "--plan.base_n"),
    ('{"serpentine": 1}', "--plan.serpentine: expected bool, found int"),
    ('{"template": "best"}', "'best' is not one of aswt"),
    ('{"template": ["aswt"]}', "is not one of aswt"),
    ('{"base_n": 0}', "base_n = 0: must be in 1..2147483647"),
    ('{"base_m": -16}', "base_m = -16: must be in 1.."),
    ('{"step_k": 99999999999999999999}', "step_k = 99999999999999999999: must be in 1.."),
    ('{"resident_slabs": -1}', "resident_slabs = -1: must be in 0.."),
    ('{"l1_buffer_num": 9}', "l1_buffer_num = 9: must be in 1..8"),
    ('{"used_core_num": 342}', "used_core_num = 342"),
    ("nowhere.json", "--plan nowhere.json: cannot be read (No such file or directory)"),
    ("", "cannot be read"),
]


@pytest.mark.parametrize("command", ["emulate", "trace"])
@pytest.mark.parametrize(("plan", "complaint"), BAD_PLANS)
def test_bad_plans_are_one_line(
    terminal: Terminal, tmp_path: Path, command: str, plan: str, complaint: str
) -> None:
    output = tmp_path / "t.json"
    options = ("--output", str(output)) if command == "trace" else ()
    code, out, err = terminal.run(command, *SHAPE, "--plan", plan, *options)
    assert (code, out) == (2, "")
    last = err.splitlines()[-1]
    assert complaint in last
    assert last.startswith(f"autotune {command}: ")
    assert all("warning" in line for line in err.splitlines()[:-1])
    assert not output.exists()


def test_bad_plan_files_are_one_line(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "plan"
    for data, complaint in (
        (b"[1]", "no JSON object"),
        (b"\xff\xfe", "not UTF-8"),
        (b" " * (1 << 20) + b"{}", "longer than a plan can be"),
    ):
        path.write_bytes(data)
        code, out, err = terminal.run("emulate", *SHAPE, "--plan", str(path))
        assert (code, out) == (2, "")
        assert err.startswith(f"autotune emulate: --plan {path}: {complaint}")
        assert err.count("\n") == 1
    code, _, err = terminal.run("emulate", *SHAPE, "--plan", str(tmp_path))
    assert (code, "cannot be read (Is a directory)" in err) == (2, True)


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (("--m", "1", "--k", "2"), "--n is missing; give --m, --k and --n\n"),
        (("--m", "0", "--k", "2", "--n", "3"), "--m 0: must be in 1..2147483647"),
        ((*SHAPE, "--hw", "nothing"), "nothing"),
    ],
)
def test_bad_problems_are_one_line(
    terminal: Terminal, argv: tuple[str, ...], complaint: str
) -> None:
    code, out, err = terminal.run("emulate", *argv)
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_vector_kernels_have_pipes_and_a_trace(terminal: Terminal, tmp_path: Path) -> None:
    empty = ("--m", "4", "--k", "0", "--n", "300")
    document = terminal.emulate(*empty)
    pipes = document["pipes"]["busiest"]
    assert list(pipes) == ["MTE2", "VECTOR", "MTE3"]
    assert pipes["MTE3"]["busy_cycles"] > 0
    assert pipes["VECTOR"]["busy_cycles"] == 0
    assert "aiv_vec_ratio" in document["summary"]
    assert "cube_utilization_percent" not in document["summary"]
    assert document["memory"]["store_bytes"] == 4 * 300 * 2
    vector = ("--m", "1", "--k", "700", "--n", "300", "--plan", VECTOR_PLAN)
    _, out, _ = terminal.run("emulate", *vector)
    assert "VECTOR " in out
    assert "loads " in out
    code, _, err = terminal.run("trace", *vector, "--output", str(tmp_path / "t"), "--cores", "1")
    assert (code, err) == (0, "")
    events = json.loads((tmp_path / "t").read_text())["traceEvents"]
    threads = sorted(
        (other["args"]["sort_index"], event["args"]["name"])
        for event, other in pairwise(events)
        if event["name"] == "thread_name"
    )
    assert [name for _, name in threads] == ["MTE2", "VECTOR", "MTE3"]
    work = [event for event in events if event["ph"] == "X"]
    assert {event["args"].get("l2") for event in work} == {"hit", "in flight", "bypassed", None}


def test_long_kernels_are_emulated_without_a_log(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = terminal.emulate()
    monkeypatch.setattr(emulation, "MAX_LOG_ROWS", 10)
    document = terminal.emulate()
    assert document["pipes"] is None
    assert document["summary"] == whole["summary"]
    code, _, err = terminal.run("trace", *SHAPE, "--output", str(tmp_path / "t"))
    assert code == 2
    assert "the kernel has more steps than are logged" in err


def test_very_long_kernels_are_extrapolated(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = terminal.emulate()
    assert whole["is_extrapolated"] is False

    def extrapolate(*args: Any, **options: Any) -> EmulationResult:
        # Kernels that are worth extrapolating take seconds.
        return replace(emulate_long(*args, **options), emulated_events=5)

    monkeypatch.setattr(emulation, "LONG_EVENTS", 200)
    monkeypatch.setattr(emulation, "emulate_long", extrapolate)
    document = terminal.emulate()
    assert (document["is_extrapolated"], document["pipes"]) == (True, None)
    assert document["summary"] == whole["summary"]
    _, out, _ = terminal.run("emulate", *SHAPE)
    assert "too long to emulate: extrapolated from smaller kernels\n" in out


def test_compiling_is_announced(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulation, "needs_compiling", lambda _: True)
    _, _, err = terminal.run("emulate", *SHAPE)
    assert (
        err == "autotune emulate: compiling the emulator, once; this takes about fifteen seconds\n"
    )


def write_trace(terminal: Terminal, path: Path, *argv: str) -> Any:
    code, out, err = terminal.run("trace", *SHAPE, "--output", str(path), *argv)
    assert (code, err) == (0, "")
    data = path.read_bytes()
    text = gzip.decompress(data).decode() if path.name.endswith(".gz") else data.decode()
    assert f"{len(text)} bytes uncompressed" in out
    assert text.startswith('{"profilingType":"op",')
    document = json.loads(text)
    events = [event for event in document["traceEvents"] if event["ph"] == "X"]
    assert f": {len(events)} events of core" in out
    return document


def test_trace_has_a_process_per_core_and_a_thread_per_pipe(
    terminal: Terminal, tmp_path: Path
) -> None:
    document = write_trace(terminal, tmp_path / "t.json")
    summary = terminal.emulate()["summary"]
    events = document["traceEvents"]
    names = {
        (event["name"], event["pid"], event.get("tid")): event["args"]
        for event in events
        if event["ph"] == "M"
    }
    assert names["process_name", 3, None] == {"name": "core 3"}
    threads = [names["thread_name", 0, pipe]["name"] for pipe in range(4)]
    assert threads == ["MTE2", "MTE1", "CUBE", "FIXPIPE"]
    work = [event for event in events if event["ph"] == "X"]
    assert {event["pid"] for event in work} == set(range(summary["block_num"]))
    tracks = defaultdict(list)
    for event in work:
        tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        assert event["dur"] >= 0
        if event["tid"] == 0:
            assert event["name"] in {"A slab", "B slab"}
            assert event["args"]["l2"] in {"hit", "miss", "in flight", "bypassed"}
        else:
            assert event["name"].startswith("tile ")
    for spans in tracks.values():
        for (_, end), (begin, _) in pairwise(spans):
            assert begin >= end - 1e-9, "pieces of a pipe's work do not overlap"
    end = max(span[1] for spans in tracks.values() for span in spans)
    assert end == pytest.approx(summary["task_duration_us"], abs=0.002)


def test_compressed_traces_are_the_same_bytes_again(terminal: Terminal, tmp_path: Path) -> None:
    plain = write_trace(terminal, tmp_path / "t.json")
    assert write_trace(terminal, tmp_path / "a.json.gz") == plain
    assert write_trace(terminal, tmp_path / "b.json.gz") == plain
    one, two = ((tmp_path / f"{name}.json.gz").read_bytes() for name in "ab")
    assert one == two
    assert one[4:8] == bytes(4), "no time of writing in the header"


def test_cores_and_rounds_cut_the_trace(terminal: Terminal, tmp_path: Path) -> None:
    plan = ("--plan", '{"base_m": 64, "base_n": 64}')
    cores = write_trace(terminal, tmp_path / "t", *plan, "--cores", "7, 0-2,1")
    assert {event["pid"] for event in cores["traceEvents"]} == {0, 1, 2, 7}
    work = [event for event in cores["traceEvents"] if event["ph"] == "X"]
    assert {event["args"]["round"] for event in work} >= {0, 1, 2, 3}
    rounds = write_trace(terminal, tmp_path / "t", *plan, "--cores", "0-2,7", "--rounds", "2")
    kept = [event for event in rounds["traceEvents"] if event["ph"] == "X"]
    assert kept == [event for event in work if event["args"]["round"] < 2]
    _, out, _ = terminal.run(
        "trace", *SHAPE, *plan, "--output", str(tmp_path / "t"), "--cores", "2,0-1,7"
    )
    assert " events of cores 0-2,7, " in out
    _, out, _ = terminal.run("trace", *SHAPE, "--output", str(tmp_path / "t"), "--cores", "5")
    assert " events of core 5, " in out


def test_traces_that_are_too_long_say_how_to_cut_them(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ("--plan", '{"base_m": 32, "base_n": 32, "step_k": 1}')
    output = tmp_path / "t.json"
    argv = ("trace", *SHAPE, *plan, "--output", str(output))
    limit = 800_000
    monkeypatch.setattr(trace, "MAX_TRACE_BYTES", limit)
    code, out, err = terminal.run(*argv)
    assert (code, out) == (2, "")
    assert not output.exists()
    advice = err.rpartition("show fewer with ")[2].strip()
    ways = advice.split(" or ")
    assert [way.split()[0] for way in ways] == ["--rounds", "--cores"]
    for way in ways:
        code, _, err = terminal.run(*argv, *way.split())
        assert code == 0, err
        assert 0.5 * limit < output.stat().st_size < limit
        output.unlink()
    monkeypatch.setattr(trace, "MAX_TRACE_BYTES", 3000)
    _, _, err = terminal.run(*argv)
    assert err.endswith("show fewer with --cores 0 --rounds 1\n")


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("--cores", "a", "write numbers and ranges like 0-3,7"),
        ("--cores", "", "write numbers and ranges"),
        ("--cores", "1-", "write numbers and ranges"),
        ("--cores", "3-1", "must ascend and stay below"),
        ("--cores", "0-999999999", "must ascend and stay below"),
        ("--cores", "0-32", "core 32: the kernel runs on cores 0-31"),
        ("--rounds", "0", "must be a number of at least 1"),
        ("--rounds", "x", "must be a number of at least 1"),
        ("--output", "", "the name is empty"),
        ("--output", "/", "the name is empty"),
    ],
)
def test_bad_options_of_trace(
    terminal: Terminal, tmp_path: Path, option: str, value: str, complaint: str
) -> None:
    argv = ("--plan", '{"base_m": 64, "base_n": 64}', "--output", str(tmp_path / "t"))
    code, out, err = terminal.run("trace", *SHAPE, *argv, option, value)
    assert (code, out) == (2, "")
    assert complaint in err.splitlines()[-1]


def test_files_that_cannot_be_written(terminal: Terminal, tmp_path: Path) -> None:
    output = tmp_path / "missing" / "t.json.gz"
    code, out, err = terminal.run("trace", *SHAPE, "--output", str(output))
    assert (code, out) == (1, "")
    assert err == f"autotune trace: cannot write {output}: No such file or directory\n"


def test_ranges() -> None:
    assert format_ranges((0, 1, 2, 5, 7, 8)) == ["0-2", "5", "7-8"]
    assert format_ranges(()) == []


def test_options_are_those_of_the_baseline_command(terminal: Terminal) -> None:
    for command in ("emulate", "trace"):
        code, out, _ = terminal.run(command, "--help")
        assert code == 0
        for name in PROBLEM_OPTIONS:
            assert "--" + name.replace("_", "-") in out
