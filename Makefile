# Two commands do all their own set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help demo test plain docs gallery check lint format bench paper faults house browser postgres strace
.PHONY: release-quick release-check clean

help:
	@echo "make demo    learn a contextual problem and leave a page to look at in out/demo/"
	@echo "make test    run the tests"
	@echo "make plain   run some of them without the accelerator of the compiler, from an empty cache"
	@echo "make docs    build the documentation into out/site/"
	@echo "make gallery run the experiments whose reports the documentation shows (minutes); then make docs"
	@echo "make check   linters, types, import layers, tests"
	@echo "make bench   our planner and learner beside others, as ratios measured in one run (minutes)"
	@echo "make paper   the guarantees of the paper, made visible at full size in out/guarantees/ (minutes)"
	@echo "make faults  kill, stop and damage the decision service at full size: nothing acknowledged is lost (hours)"
	@echo "make house   the size of the code, with budgets and goals; WRITE=1 lowers the budgets to it"
	@echo "make browser install Chromium for the tests of the report (Debian and Ubuntu; as root, or by sudo)"
	@echo "make postgres  install a PostgreSQL server for the tests of stores (Debian and Ubuntu; as root, or by sudo)"
	@echo "make strace  install strace for the tests of failing disks and lost power (Debian and Ubuntu; likewise)"
	@echo "make release-quick  build wheel and sdist, install them into empty environments, use core and each extra"
	@echo "make release-check  ... under every Python that is found, and with the lowest versions allowed (many minutes)"
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

# The same numbers by numba's own code generator, from an empty cache: two published experiments, kernels in both forms.
PLAIN = tests/unit/test_golden.py tests/properties/test_compiled_kernels.py \
  'tests/contracts/test_published_specs.py::test_the_quick_form_runs_from_the_file_to_the_report[first]' \
  'tests/contracts/test_published_specs.py::test_the_quick_form_runs_from_the_file_to_the_report[likelihood]'
plain: $(VENV)/.dev
	mkdir -p out
	folder=$$(mktemp -d out/plain.XXXX) && \
	  GOALBOUND_ACCELERATE=0 NUMBA_CACHE_DIR=$$PWD/$$folder $(BIN)/python -m pytest --numprocesses $(WORKERS) --timeout 900 --quiet $(PLAIN); \
	  status=$$?; rm -rf "$$folder"; exit $$status

demo: $(VENV)/.experiments
	$(BIN)/goalbound demo

# How many processes: auto, one for each processor.
WORKERS ?= auto
test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal --quiet

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
	$(BIN)/python -m benchmarks.logs

paper: $(VENV)/.dev
	$(BIN)/python -m guarantees

faults: $(VENV)/.dev
	$(BIN)/python -m faults

house: $(VENV)/.dev
	$(BIN)/python -m tests.house $(if $(WRITE),--write)

release-quick: $(VENV)/.dev
	$(BIN)/python -m release

release-check: $(VENV)/.dev
	$(BIN)/python -m release --full

# What some tests need of the machine; without it they are skipped, and say so. Where CI is set they fail instead.
# $(call by_apt,target,what is true where it is there,what installs it,what to do by hand)
define by_apt
	@if $(2); then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo "make $(1): no apt-get here; $(4)" >&2; exit 1; fi; \
	if [ "$$(id -u)" = 0 ]; then root=; elif command -v sudo >/dev/null; then root=sudo; else \
	  echo "make $(1): only root can install packages, and there is no sudo: become root, or $(4)" >&2; exit 1; \
	fi; \
	$$root apt-get update --quiet >/dev/null && { $(3); }; \
	if ! { $(2); }; then \
	  echo "make $(1): it could not be installed by apt-get (see above); $(4)" >&2; exit 1; \
	fi
endef

# Tests of the report need a real browser.
HAVE_BROWSER = command -v chromedriver >/dev/null && \
  { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null
GET_BROWSER = $$root apt-get install --yes --quiet chromium chromium-driver >/dev/null || \
  $$root apt-get install --yes --quiet chromium-browser chromium-chromedriver >/dev/null
BROWSER_BY_HAND = install Chromium and its chromedriver as your system does it, and put both on the PATH
browser:
	$(call by_apt,browser,$(HAVE_BROWSER),$(GET_BROWSER),$(BROWSER_BY_HAND))

# Tests of stores in PostgreSQL start a server of their own. Debian keeps its programs off the path.
POSTGRES_PLACES ?= /usr/lib/postgresql/*/bin/initdb
HAVE_POSTGRES = { command -v initdb >/dev/null || { set -- $(POSTGRES_PLACES); [ -x "$$1" ]; }; }
GET_POSTGRES = $$root apt-get install --yes --quiet postgresql >/dev/null
POSTGRES_BY_HAND = install a PostgreSQL server as your system does it, and put initdb and pg_ctl on the PATH
postgres:
	$(call by_apt,postgres,$(HAVE_POSTGRES),$(GET_POSTGRES),$(POSTGRES_BY_HAND))

# Tests of lost power and failing disks trace the system calls of a store.
HAVE_STRACE = command -v strace >/dev/null
GET_STRACE = $$root apt-get install --yes --quiet strace >/dev/null
strace:
	$(call by_apt,strace,$(HAVE_STRACE),$(GET_STRACE),install strace as your system does it)

clean:
	rm -rf $(VENV) out build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
