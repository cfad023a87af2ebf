"""The host tiling against the results of the compiled original: every field of every case."""

import json
import subprocess
import sys
from typing import Any

from baseline.batch import build_platform, build_request
from baseline.decision import decide_request
from baseline.request import RequestedStrategy, TilingRequest
from hwmodel.errors import RejectedError
from tests.baseline.platforms import ASCEND_950PR
from tests.golden_tilings import golden_problem, load_golden_tilings

SAMPLE_STRIDE = 7
"""Every seventh case is enough where all strategies must merely occur."""


def answer(request: dict[str, Any], *, explain: bool = False) -> dict[str, object]:
    try:
        platform = build_platform(request, ASCEND_950PR)
        return decide_request(build_request(request), platform, explain=explain).to_record()
    except RejectedError as error:
        return {"error": error.code, "errorFunc": error.where}


def test_every_field_of_every_case() -> None:
    cases = load_golden_tilings()
    assert len(cases) == 6000
    for case in cases:
        # Comparing the text compares order, integer against float, and doubles bit for bit.
        assert json.dumps(answer(case["in"])) == json.dumps(case["out"]), case["in"]["id"]


def test_the_explained_path_is_the_deciding_path() -> None:
    strategies = set()
    for case in load_golden_tilings()[::SAMPLE_STRIDE]:
        assert answer(case["in"], explain=True) == case["out"]
        strategies.add(case["out"].get("strategy"))
    assert len(strategies) == 7


def test_request_of_a_problem_is_the_request_of_its_keys() -> None:
    for case in load_golden_tilings()[::SAMPLE_STRIDE]:
        if "strategy" in case["out"]:
            request = TilingRequest.from_problem(
                golden_problem(case["in"]),
                strategy=RequestedStrategy(case["in"]["forcedStrategy"]),
            )
            assert request == build_request(case["in"])


def test_the_exact_path_loads_the_standard_library_only() -> None:
    program = (
        "import sys, baseline.batch, baseline.decision\n"
        "heavy = {'numpy', 'scipy', 'optuna', 'joblib', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
