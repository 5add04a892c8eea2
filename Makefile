# Targets for people; "make help" lists them. Everything they need they build themselves.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory --no-builtin-rules
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
export PATH := $(CURDIR)/$(BIN):$(CURDIR)/$(VENV)/tools/usr/bin:$(PATH)
export PYTHONUNBUFFERED := 1
UV_VERSION := 0.13.9

# The demonstration keeps all it writes in one folder.
GENESISD_STATE ?= $(or $(XDG_STATE_HOME),$(HOME)/.local/state)/genesisd-demo
GENESISD_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/genesisd
PIN := cpu-0.32.0

.PHONY: help
help:
	@printf '%s\n' \
	  'make run      set up, build the CPU pin, start the daemon here with a tiny worker (Ctrl-C ends it)' \
	  'make test     the gate: linters, then every test' \
	  'make soak     what takes longer than the gate allows' \
	  'make bench    measure, and compare with peers in the same run' \
	  'make mutate   change the pure decisions one by one, and see that a test notices (about 20 minutes)' \
	  'make fmt      format and mend what ruff can mend' \
	  'make lock     resolve the dependencies again (UPGRADE=1 to move them)' \
	  'make install  install for systemd (DESTDIR=, LIBDIR=, INSTALL_PYTHON=)' \
	  'make clean    remove what was built here'

# --- environment ----------------------------------------------------------------------------------------------
# Stamps make the second call cheap: a step runs again only when its lock or pyproject.toml changed.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"genesisd needs Python 3.11 or newer, and {sys.executable} is {sys.version.split()[0]}: set PYTHON=python3.11")'
	@echo '==> creating $(VENV)'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements.lock | $(BIN)/python
	@echo '==> installing the runtime dependencies'
	@$(PIP) install -qq --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.runtime
	@echo '==> installing the development dependencies'
	@$(PIP) install -qq --require-hashes -r requirements-dev.lock
	@touch $@

# hatchling is in the lock, so nothing is fetched to build the project.
$(VENV)/.project: pyproject.toml $(VENV)/.runtime
	@echo '==> installing genesisd'
	@$(PIP) install -qq --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: env env-dev
env: $(VENV)/.project
env-dev: $(VENV)/.project $(VENV)/.dev

# --- run ------------------------------------------------------------------------------------------------------

.PHONY: run pin
run: env pin
	@mkdir -p -m 700 '$(GENESISD_STATE)'
	@GENESISD_STATE='$(GENESISD_STATE)' exec $(BIN)/genesisd --config etc/examples/cpu.yaml --foreground --guide

# The engine: fetched once into the cache that the daemon uses too; a build that was interrupted goes on.
pin: env
	@$(BIN)/python -m genesisd.pins.build etc/pins.yaml $(PIN) --cache '$(GENESISD_CACHE)'

# --- test -----------------------------------------------------------------------------------------------------
# One pytest run over all stages, so that its summary, the last line, speaks for everything. It shares them out to two
# processes: most tests wait most of the time. TEST_JOBS=0 runs one after the other, in this one process.
TEST_JOBS ?= 2

.PHONY: test lint prerequisites
test: lint prerequisites
	@[[ -n $${GENESISD_TEST_VLLM:-} ]] || $(MAKE) pin || echo '    no engine: the tests of stage "real" will say so'
	@echo '==> tests'
	@GENESISD_CACHE='$(GENESISD_CACHE)' exec $(BIN)/python -m pytest tests -n $(TEST_JOBS) --dist loadscope --no-loadscope-reorder $(PYTEST_ARGS)

lint: env-dev
	@echo '==> linters'
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

prerequisites:
	@tools/test-prerequisites

.PHONY: soak bench mutate
soak: env-dev prerequisites
	@GENESISD_CACHE='$(GENESISD_CACHE)' exec $(BIN)/python -m pytest tests -m soak $(PYTEST_ARGS)

bench: env-dev
	@exec $(BIN)/python -m benchmarks $(BENCH_ARGS)

# Everything anew: what an earlier run found may be cached under other tests. CI=1: what hypothesis draws is the same
# each time. docs/mutation.md argues the survivors.
mutate: env-dev
	@rm -rf mutants
	@CI=1 $(BIN)/mutmut run
	@$(BIN)/mutmut results

# --- upkeep ---------------------------------------------------------------------------------------------------

.PHONY: fmt lock
fmt: env-dev
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

lock: | $(BIN)/python
	@UV_VERSION=$(UV_VERSION) tools/lock $(if $(UPGRADE),--upgrade)

# --- install --------------------------------------------------------------------------------------------------

DESTDIR ?=
LIBDIR ?= /usr/lib/genesisd
BINDIR ?= /usr/bin
SYSCONFDIR ?= /etc/genesisd
UNITDIR ?= /usr/lib/systemd/system
SYSUSERSDIR ?= /usr/lib/sysusers.d
TMPFILESDIR ?= /usr/lib/tmpfiles.d
INSTALL_PYTHON ?= /usr/bin/python3

.PHONY: install uninstall
install: env
	@DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' BINDIR='$(BINDIR)' SYSCONFDIR='$(SYSCONFDIR)' UNITDIR='$(UNITDIR)' \
	  SYSUSERSDIR='$(SYSUSERSDIR)' TMPFILESDIR='$(TMPFILESDIR)' INSTALL_PYTHON='$(INSTALL_PYTHON)' tools/install

uninstall:
	rm -rf '$(DESTDIR)$(LIBDIR)'
	rm -f '$(DESTDIR)$(BINDIR)/genesisd' '$(DESTDIR)$(BINDIR)/genesisctl' '$(DESTDIR)$(UNITDIR)/genesisd.service' \
	  '$(DESTDIR)$(SYSUSERSDIR)/genesisd.conf' '$(DESTDIR)$(TMPFILESDIR)/genesisd.conf'

.PHONY: clean
clean:
	rm -rf $(VENV) dist build mutants .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
