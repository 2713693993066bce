# Two commands do all their own set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help demo test docs gallery check lint format bench paper faults browser clean

help:
	@echo "make demo    learn a contextual problem and leave a page to look at in out/demo/"
	@echo "make test    run the tests"
	@echo "make docs    build the documentation into out/site/"
	@echo "make gallery run the experiments whose reports the documentation shows (minutes); then make docs"
	@echo "make check   linters, types, import layers, tests"
	@echo "make bench   our planner and learner beside others, as ratios measured in one run (minutes)"
	@echo "make paper   the guarantees of the paper, made visible at full size in out/guarantees/ (minutes)"
	@echo "make faults  kill, stop and damage the decision service at full size: nothing acknowledged is lost (hours)"
	@echo "make browser install Chromium for the tests of the report (Debian and Ubuntu; as root, or by sudo)"
	@echo "make clean   remove the environment and everything that was built"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "goalbound needs Python 3.11 or newer; say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# With what `goalbound run`, the next command of README, needs.
$(VENV)/.experiments: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable '.[experiments]'
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.experiments

$(VENV)/.bench: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable '.[bench]'
	@touch $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --editable '.[docs]'
	@touch $@

demo: $(VENV)/.experiments
	$(BIN)/goalbound demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --quiet

# Notebooks are executed, and their output is kept in out/notebooks until they change; NOTEBOOKS=off: not executed.
NOTEBOOKS ?= cache
docs: $(VENV)/.docs
	GOALBOUND_NOTEBOOKS=$(NOTEBOOKS) $(BIN)/python -m sphinx --jobs auto --fail-on-warning --keep-going --fresh-env --quiet \
	  --doctree-dir out/doctrees docs out/site
	@echo "open out/site/index.html"

# The reports of the gallery; the next make docs includes them. GALLERY=--quick: one seed, few episodes.
gallery: $(VENV)/.docs
	$(BIN)/python docs/_ext/gallery.py out/gallery $(GALLERY)

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
	$(BIN)/python -m benchmarks.large
	$(BIN)/python -m benchmarks.service

paper: $(VENV)/.dev
	$(BIN)/python -m guarantees

faults: $(VENV)/.dev
	$(BIN)/python -m faults

# Tests of the report need a real browser; without one they are skipped, and say so. Where CI is set they fail instead.
HAVE_BROWSER = command -v chromedriver >/dev/null && \
  { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null
BY_HAND = install Chromium and its chromedriver as your system does it, and put both on the PATH
browser:
	@if $(HAVE_BROWSER); then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo "make browser: no apt-get here; $(BY_HAND)" >&2; exit 1; fi; \
	if [ "$$(id -u)" = 0 ]; then root=; elif command -v sudo >/dev/null; then root=sudo; else \
	  echo "make browser: only root can install packages, and there is no sudo: become root, or $(BY_HAND)" >&2; exit 1; \
	fi; \
	$$root apt-get update --quiet >/dev/null && \
	  { $$root apt-get install --yes --quiet chromium chromium-driver >/dev/null || \
	    $$root apt-get install --yes --quiet chromium-browser chromium-chromedriver >/dev/null; }; \
	if ! { $(HAVE_BROWSER); }; then \
	  echo "make browser: Chromium could not be installed by apt-get (see above); $(BY_HAND)" >&2; exit 1; \
	fi

clean:
	rm -rf $(VENV) out build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
