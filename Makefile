# Shortcuts for development; every target uses the environment .venv of this checkout.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup test lint types bench ci clean

.venv: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt --editable ".[dev]"
	touch .venv

setup: .venv

test: .venv
	$(BIN)/python -m pytest --cov

lint: .venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv
	$(BIN)/mypy

bench: .venv
	$(BIN)/python -m pytest tests/bench --benchmark-enable --benchmark-only

ci:
	.ci/run

clean:
	rm -rf .venv build dist *.egg-info .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
