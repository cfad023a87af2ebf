"""Reference and engine compute the same, in every field, on random cases of every template.

Many more cases: python -m tests.hwmodel.emulator.compare --cases 5000
"""

import pytest

from hwmodel.emulator.engine import emulate
from hwmodel.emulator.reference import emulate_reference
from hwmodel.plan import Template
from tests.hwmodel.emulator.random_cases import TEMPLATES, find_differences, make_case

CASES = 60
"""Cases of each template: about ten seconds in all."""


@pytest.mark.parametrize("template", TEMPLATES)
def test_engine_equals_reference(template: Template) -> None:
    different = {}
    for seed in range(CASES):
        case = make_case(template, seed)
        names = find_differences(emulate_reference(*case), emulate(*case))
        if names:
            different[seed] = names
    assert not different
