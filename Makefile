# The two commands of the README: `make demo` and `make test`. Both do all set-up themselves.
SHELL := /bin/bash
BIN := .venv/bin
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export MOLECULE_GLOB := molecule/*/molecule.yml
export ANSIBLE_HOME := $(CURDIR)/build/ansible
SCENARIOS := $(notdir $(patsubst %/molecule.yml,%,$(wildcard molecule/*/molecule.yml)))

.PHONY: help setup tools demo demo-down test lint unit integration e2e molecule acceptance mutation bench docs lock generate wheel clean

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: ## Install everything demo and tests need
	@scripts/setup.sh

demo: setup ## Start the lab rack, provision it, show the result
	@scripts/demo.sh

demo-down: ## Remove the lab rack
	@$(BIN)/clusterctl lab down rack-12

test: setup tools lint unit integration molecule ## Everything CI runs

tools: ## What some tests ask besides (a subnet manager, PostgreSQL, promtool), unpacked into build/tools; nothing is installed
	@scripts/test_tools.sh

lint: ## ruff, mypy --strict, import contracts, yamllint, ansible-lint, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy cli lab validators tests
	$(BIN)/lint-imports
	$(BIN)/yamllint --strict .
	$(BIN)/ansible-lint --offline -q
	$(BIN)/python scripts/generate.py --check

unit: ## Fast tests, no containers
	$(BIN)/pytest -n 2 tests/unit tests/contract

integration: ## Containers, real processes and the demo flow, two files at a time: most of the time is waiting for nodes
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder tests/e2e tests/integration

e2e: ## The demo flow alone, asserted
	$(BIN)/pytest tests/e2e

molecule: ## Roles on containers: check, converge, idempotence, shared validators
	@mkdir -p build/molecule
	@printf '%s\n' $(SCENARIOS) | xargs -P 2 -I{} scripts/molecule.sh {}

acceptance: setup ## Slow, not in `test`: kernel, huge pages, tuning and NFS on a virtual machine with a kernel of its own
	@scripts/acceptance.sh

mutation: setup ## Change every setting of a lab node by other hands: told, repaired, silent; build/mutation.json
	PYTHONPATH=cli:lab:validators:tests $(BIN)/python -m mutation

bench: setup ## The performance suite, with two lab nodes and the peers; writes build/bench.json
	@$(BIN)/python benchmarks/bench.py

docs: setup ## Build the documentation site into build/site
	$(BIN)/mkdocs build --strict --site-dir build/site

generate: ## Regenerate READMEs and reference pages
	$(BIN)/python scripts/generate.py

lock: ## Lock dependencies with hashes
	scripts/lock.sh

wheel: ## Build the wheel into build/dist
	$(BIN)/python -m hatchling build -t wheel -d build/dist

clean: ## Remove build output (not the lab)
	rm -rf build .mypy_cache .ruff_cache
