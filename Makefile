# Needs GNU make and Python 3.11, 3.12 or 3.13; every target sets up what else it needs.
# Name another Python with `make PYTHON=/path/to/python3.12`.

SHELL := /bin/sh
.DEFAULT_GOAL := help

BIN := .venv/bin
KEEP ?= 1
TYPED := $(wildcard jobs/lakehouse expectations infra dags jobs/*.py)
# The tests that need no JVM and no server.
QUICK_TESTS := $(wildcard tests/unit tests/setup tests/expectations tests/dags/test_ingest.py)
# What `make test` tries a sample of; `make soak` tries every case.
SAMPLED_TESTS = $$(grep -rlE --include='test_*.py' 'EVERY_CASE|sample\(|mark\.further' tests/property tests/spark tests/kafka tests/stack)
# The benchmarks that stand beside other programs; those of whole commands, of a cluster and of memory
# have no small form.
SMALL_BENCHES = $(foreach of,landing apply many_tables bronze_age replay drain reading,tests/bench/test_$(of).py)
RUN_PYTHON = python="$${PYTHON:-$$(sh infra/setup/find-python.sh)}" && "$$python"
SETUP = $(RUN_PYTHON) -m infra.setup
export PYTHON

.PHONY: help
help: ## show this help
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  %-12s %s\n", $$1, $$2}'
	@echo "Everything else is the command $(BIN)/lakehouse (--help tells more)."

.PHONY: setup
setup: ## install all that is needed: Python packages, Java, jars, database binaries
	@$(SETUP)

.PHONY: environment
environment:
	@$(SETUP) environment

.PHONY: demo
demo: setup ## the main job on real databases, until Ctrl-C (KEEP=0: stop at the end)
	@$(BIN)/lakehouse demo $(if $(filter 0,$(KEEP)),--no-keep,--keep)

.PHONY: test
test: setup ## all tests, with real databases, Kafka, Spark and Airflow
	@$(BIN)/python -m pytest -p tests.plugins.loud_skips -n 4 --no-loadscope-reorder --durations=40

.PHONY: check
check: lint ## lint, format, types, import rules, quick tests
	$(BIN)/python -m pytest $(QUICK_TESTS)

.PHONY: lint
lint: environment ## check without its tests, which are among those of `make test`
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(TYPED)
	PYTHONPATH=dags $(BIN)/lint-imports

.PHONY: bench
bench: setup ## the benchmark (hours); prints its figures and keeps them
	@BENCH_RESULTS=docs/benchmarks.jsonl $(BIN)/python -m pytest -s tests/bench

.PHONY: bench-report
bench-report: setup ## docs/benchmarks.md and its plots, of the results that are kept
	@$(BIN)/python -m tests.bench.report docs/benchmarks.jsonl docs/benchmarks.md

.PHONY: bench-small
bench-small: setup ## its workloads W1 to W7 and scans with small tables (ten minutes)
	@BENCH_SMALL=1 $(BIN)/python -m pytest -s $(SMALL_BENCHES)

.PHONY: soak
soak: setup ## long random runs with faults; prints its figures
	@LAKEHOUSE_SOAK_FACTOR=$${LAKEHOUSE_SOAK_FACTOR:-50} $(BIN)/python -m pytest -s -o timeout=0 \
		tests/property/test_reference.py -k reference_ends
	@LAKEHOUSE_EVERY_CASE=1 $(BIN)/python -m pytest -s $(SAMPLED_TESTS) tests/soak

.PHONY: wheel
wheel: environment ## the code that Python's workers of a cluster need, in dist
	@$(BIN)/python -m hatchling build -t wheel -d dist

.PHONY: lock
lock: environment ## make the lock files again from pyproject.toml
	@$(RUN_PYTHON) -m infra.setup.relock

.PHONY: audit
audit: setup ## known weaknesses of the packages that are used
	@$(BIN)/python -m infra.supply audit

.PHONY: sbom
sbom: setup ## a bill of materials (CycloneDX) in dist
	@$(BIN)/python -m infra.supply sbom

.PHONY: licences
licences: setup ## the licences of all packages and jars
	@$(BIN)/python -m infra.supply licences

.PHONY: clean
clean: ## remove the environment and the tools' caches (not downloads, not .lakehouse)
	rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
