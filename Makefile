# `make run` and `make test` do all the set-up themselves; each step leaves a stamp in .venv, so a second run does none.
SHELL := /bin/bash
PYTHON ?= /usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
FILE ?=
SCENARIO ?= topologies/quickstart.yaml
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export CARGO_TERM_COLOR ?= auto

SYSTEM_STAMP := $(VENV)/.stamp-system
PACKAGES_STAMP := $(VENV)/.stamp-packages
ENGINE_STAMP := $(VENV)/.stamp-engine
# A client for the P4Runtime server's tests, in an environment of its own: it needs an older protobuf than everything else.
P4RUNTIME_SHELL := $(VENV)/p4runtime-shell
P4RUNTIME_SHELL_STAMP := $(VENV)/.stamp-p4runtime-shell
TESTS_STAMP := $(VENV)/.stamp-tests
# Compiled programs that are kept packed: ours, and those of the benchmark, the Mininet examples and the engine's tests.
PROGRAMS := $(patsubst %.xz,%,$(wildcard p4src/canopy.*.xz $(addsuffix /*.xz,experiments/bench/switch/programs \
	topologies/mininet/programs tests/engine/data engine/crates/p4vm/tests/data)))
DOCS_STAMP := $(VENV)/.stamp-docs
RUST_SOURCES := $(shell find engine/crates -name '*.rs' -o -name '*.toml' -not -path '*/target/*' 2>/dev/null) \
	engine/Cargo.toml engine/Cargo.lock

.PHONY: help setup programs run docs test check lint lint-python lint-rust test-python test-rust test-emulation fuzz bench \
	package package-test p4 format clean

help: ## what can be made
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(SYSTEM_STAMP): scripts/system_packages.sh
	@scripts/system_packages.sh
	@$(PYTHON) -m venv --system-site-packages $(VENV)
	@touch $@

$(PACKAGES_STAMP): $(SYSTEM_STAMP) pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(ENGINE_STAMP): $(PACKAGES_STAMP) $(RUST_SOURCES)
	@echo "building the engine (Rust); the first time takes some minutes"
	cd engine/crates/native && $(CURDIR)/$(BIN)/maturin develop --release --locked --quiet
	@touch $@

$(P4RUNTIME_SHELL_STAMP): $(SYSTEM_STAMP) tests/engine/switch/p4runtime/whole/shell/constraints.txt
	@$(PYTHON) -m venv --clear $(P4RUNTIME_SHELL)
	$(P4RUNTIME_SHELL)/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/engine/switch/p4runtime/whole/shell/constraints.txt p4runtime-shell
	@touch $@

$(TESTS_STAMP): $(ENGINE_STAMP) $(PROGRAMS) scripts/build_tests.sh scripts/fuzz.sh $(wildcard engine/fuzz/*.toml engine/fuzz/*/*.rs)
	@echo "building the engine's tests and fuzz targets; the first time takes some minutes"
	@scripts/build_tests.sh
	@touch $@

$(DOCS_STAMP): $(PACKAGES_STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	@touch $@

$(PROGRAMS): %: %.xz
	@xz --decompress --stdout $< >$@.part && mv $@.part $@

setup: $(ENGINE_STAMP) $(PROGRAMS) ## install and build all that is needed (no root once the system packages are there)

programs: $(PROGRAMS)

run: setup ## send a real file to eight receivers over three P4 switches (FILE=path for your own)
	@$(BIN)/canopy emulate $(SCENARIO) $(if $(FILE),--file '$(FILE)')

docs: $(DOCS_STAMP) ## the documentation as a site: open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

test: setup $(DOCS_STAMP) $(P4RUNTIME_SHELL_STAMP) $(TESTS_STAMP) ## every check: formatting, lints, types, unit, packet-level and emulation tests
	@scripts/test.sh

check: setup ## formatting, lints, types and the tests of what has changed: a minute
	@scripts/check.sh

lint: lint-python lint-rust ## formatting, lints and types only

lint-python: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

lint-rust: setup
	cd engine && cargo fmt --all --check
	cd engine && cargo clippy --profile tests --locked --workspace --all-targets --no-default-features --quiet -- -D warnings

test-rust: setup ## the engine's own tests
	cd engine && cargo test --profile tests --tests --locked --quiet

test-python: setup $(DOCS_STAMP) $(P4RUNTIME_SHELL_STAMP) ## unit and packet-level tests; the ones that need root are in test-emulation
	$(BIN)/pytest -n 2 -m 'not root and not emulation and not alone'
	$(BIN)/pytest -m 'alone and not root and not emulation'

test-emulation: setup ## tests in network namespaces (root)
	$(BIN)/pytest -m 'root or emulation'

fuzz: setup ## try inputs that nobody thought of on the switch (CANOPY_FUZZ_SECONDS=60)
	@scripts/fuzz.sh

package: setup ## Debian packages: canopy-agents for hosts, canopy with everything (docs/deploy.md)
	$(BIN)/python -m deploy.build

package-test: package ## install, use and remove them in clean systems, and follow docs/deploy.md (root; some minutes)
	@scripts/deploy_packages.sh
	$(BIN)/python -m deploy.proof

p4: setup ## recompile the P4 program, the benchmark's and the examples' (needs p4c)
	$(BIN)/python p4src/build.py
	$(BIN)/python -m experiments.bench.switch.build_programs
	$(BIN)/python -m topologies.mininet.programs.build

bench: setup ## the switch's packet rates, tables, memory and start-up time
	$(BIN)/canopy bench switch

format: setup ## rewrite the sources in the house style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	cd engine && cargo fmt --all

clean: ## remove what set-up and builds made
	rm -rf $(VENV) $(PROGRAMS) site engine/target engine/fuzz/work engine/fuzz/found *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
