"""Compare reference and engine on many random cases; a program, slower than a test may be.

python -m tests.hwmodel.emulator.compare --cases 5000
"""

import argparse
import sys
from collections import Counter

from hwmodel.emulator.engine import emulate
from hwmodel.emulator.reference import emulate_reference
from hwmodel.emulator.reference.vector import emulate_vector_reference
from hwmodel.emulator.vector_engine import emulate_vector
from hwmodel.plan import Template
from tests.hwmodel.emulator.random_cases import TEMPLATES, find_differences, make_case
from tests.hwmodel.emulator.vector_cases import VECTOR_TEMPLATES, make_vector_case

ALL_TEMPLATES = (*TEMPLATES, *VECTOR_TEMPLATES)


def find_differing_fields(template: Template, seed: int) -> tuple[str, ...]:
    """Fields of the result in which reference and engine differ on a case."""
    if template in VECTOR_TEMPLATES:
        case = make_vector_case(template, seed)
        return find_differences(emulate_vector_reference(*case), emulate_vector(*case))
    case = make_case(template, seed)
    return find_differences(emulate_reference(*case), emulate(*case))


def main(arguments: list[str] | None = None) -> int:
    """Compare reference and engine on many cases; 1 if any differ."""
    parser = argparse.ArgumentParser(description="reference against engine")
    parser.add_argument("--cases", type=int, default=1000, help="cases of each template")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--templates", nargs="*", default=ALL_TEMPLATES, type=Template)
    options = parser.parse_args(arguments)
    total = 0
    for template in options.templates:
        differing: Counter[str] = Counter()
        first_seed = None
        for seed in range(options.first, options.first + options.cases):
            names = find_differing_fields(template, seed)
            differing.update(names or ())
            if names and first_seed is None:
                first_seed = seed
            total += bool(names)
        sys.stdout.write(f"{template}: {options.cases} cases, ")
        outcome = "all equal" if first_seed is None else f"first {first_seed}: {dict(differing)}"
        sys.stdout.write(outcome + "\n")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
