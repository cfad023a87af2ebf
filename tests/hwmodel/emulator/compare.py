"""Compare reference and engine on many random cases; a program, slower than a test may be.

python -m tests.hwmodel.emulator.compare --cases 5000
"""

import argparse
import sys
from collections import Counter

from hwmodel.emulator.engine import emulate
from hwmodel.emulator.reference import emulate_reference
from hwmodel.plan import Template
from tests.hwmodel.emulator.random_cases import TEMPLATES, find_differences, make_case


def main(arguments: list[str] | None = None) -> int:
    """Compare reference and engine on many cases; 1 if any differ."""
    parser = argparse.ArgumentParser(description="reference against engine")
    parser.add_argument("--cases", type=int, default=1000, help="cases of each template")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--templates", nargs="*", default=TEMPLATES, type=Template)
    options = parser.parse_args(arguments)
    total = 0
    for template in options.templates:
        differing: Counter[str] = Counter()
        first_seed = None
        for seed in range(options.first, options.first + options.cases):
            case = make_case(template, seed)
            names = find_differences(emulate_reference(*case), emulate(*case))
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
