"""The verdicts of a run as they are committed: `studies/expected/*.json`.

Numbers are rounded to six significant digits, so that a machine that differs in the last bits
gives the same file. The file names the command that gives it.
"""

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from studies.hypotheses.statistics import round_ratio
from studies.hypotheses.verdicts import StudyResults, StudyVerdict

EXPECTED_SCHEMA = 1
"""Version of the file."""


def format_expected(results: StudyResults, command: str) -> str:
    """The text of the file.

    Args:
        results: of the run.
        command: what a reader types to get the same.
    """
    document = {
        "schema": EXPECTED_SCHEMA,
        "command": command,
        "effort": results.effort,
        "selector": results.selector,
        "judge": results.judge,
        "pipeline_draws": results.pipeline_draws,
        "emulator_draws": results.emulator_draws,
        "rows": len(results.rows),
        "shapes": len(results.answers),
        "verdicts": [_describe(verdict) for verdict in results.verdicts],
        "proxy": _plain(results.proxy),
        "sharing": _plain(results.sharing),
        "field_gaps": _plain(results.field_gaps),
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _describe(verdict: StudyVerdict) -> dict[str, Any]:
    """One study; the sentences stay with the code."""
    robustness = verdict.robustness
    record = {
        field.name: _plain(getattr(verdict, field.name))
        for field in fields(verdict)
        if field.name not in {"statement", "subdomains", "robustness", "savings"}
    }
    record["robust"] = robustness.is_robust
    record["agreeing_ratio"] = _plain(robustness.agreeing_ratio)
    record["savings"] = [
        {"model": one.model, "phase": one.phase, "tokens": one.tokens}
        | {"control_us": _plain(one.control_us), "saved_ratio": _plain(one.saved_ratio)}
        for one in verdict.savings
    ]
    return record


def _plain(value: Any) -> Any:
    """What JSON takes, floats rounded."""
    if isinstance(value, float):
        return round_ratio(value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
