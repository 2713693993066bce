# Two commands do all their own set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help demo test check lint format bench paper browser clean

help:
	@echo "make demo    learn a contextual problem and leave a page to look at in out/demo/"
	@echo "make test    run the tests"
	@echo "make check   linters, types, import layers, tests"
	@echo "make bench   our planner and learner beside others, as ratios measured in one run (minutes)"
	@echo "make paper   the guarantees of the paper, made visible at full size in out/guarantees/ (minutes)"
	@echo "make browser  install Chromium for the tests of the report (Debian, as root)"
	@echo "make clean   remove the environment and everything that was built"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "goalbound needs Python 3.11 or newer; say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.core

$(VENV)/.bench: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable '.[bench]'
	@touch $@

demo: $(VENV)/.core
	$(BIN)/goalbound demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --quiet

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev $(VENV)/.bench
	$(BIN)/python -m benchmarks.cold_start
	$(BIN)/python -m benchmarks.planner
	$(BIN)/python -m benchmarks.learner
	$(BIN)/python -m benchmarks.baselines

paper: $(VENV)/.dev
	$(BIN)/python -m guarantees

# Tests of the report need a real browser; without one they are skipped, and say so.
browser:
	@command -v chromedriver >/dev/null || apt-get install --yes --quiet chromium chromium-driver >/dev/null

clean:
	rm -rf $(VENV) out build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
