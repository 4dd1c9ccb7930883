# `make demo` and `make test` do all necessary set-up.
SHELL := /bin/bash
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export MOLECULE_GLOB := molecule/*/molecule.yml
export ANSIBLE_HOME := $(CURDIR)/build/ansible
# Many containers set it: each of the thousands of programs started here would then compile everything that it imports.
unexport PYTHONDONTWRITEBYTECODE
# Two run at a time: with the longest last, one would run alone.
LONGEST := node os
SCENARIOS := $(notdir $(patsubst %/molecule.yml,%,$(wildcard molecule/*/molecule.yml)))
SCENARIOS := $(LONGEST) $(filter-out $(LONGEST),$(SCENARIOS))
# What takes longest, so that `test` ends in its time on a slow machine; the demo flow applies the roles of `node`, too.
LONG := $(addprefix tests/e2e/test_,fresh_installer.py nvl72_rack.py) $(addprefix tests/integration/test_,collection.py hca_addresses.py storage_client_fuse.py)
LONG_SCENARIO := node
LINTERS := ansible-lint mypy generated ruff import-contracts yamllint

.PHONY: help setup tools demo demo-down test lint $(LINTERS) resolve unit integration long e2e molecule newest acceptance mutation chaos scale drill fuzz culprits faults recorded cross-check pools pages bench docs lock generate wheel clean

help: ## Show the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: ## Install everything that demo and tests need
	@scripts/setup.sh

demo: setup ## Start a lab rack, provision it and show the result
	@scripts/demo.sh

demo-down: ## Remove the lab rack
	@$(BIN)/clusterctl lab down rack-12

test: setup ## Everything CI runs
	@$(MAKE) --no-print-directory --output-sync --jobs 3 tools lint resolve
	@$(MAKE) --no-print-directory unit integration molecule SCENARIOS="$(filter-out $(LONG_SCENARIO),$(SCENARIOS))"

tools: ## Unpack additional programs for tests (subnet manager, PostgreSQL, promtool, Slurm, Chromium, diagnostic tools) into build/tools; installs nothing
	@scripts/test_tools.sh

lint: $(LINTERS) ## ruff, mypy --strict, import contracts, yamllint, ansible-lint, generated files

ansible-lint:
	ANSIBLE_COLLECTIONS_PATH=playbooks/collections $(BIN)/ansible-lint --offline -q

mypy:
	$(BIN)/mypy cli lab on_node tools validators tests contrib scripts

generated:
	$(BIN)/python scripts/generate.py --check

ruff:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

import-contracts:
	$(BIN)/lint-imports

yamllint:
	$(BIN)/yamllint --strict .

resolve: ## Install the packages of every profile in simulation, from the facts about public repositories; writes build/resolve.json
	$(BIN)/clusterctl lab resolve --inventory inventory/common --out build/resolve.json

unit: ## Fast tests without containers
	$(BIN)/pytest -n 2 tests/unit tests/contract

integration: ## Tests with containers and real processes, and the demo flow, but those of `long`; two files in parallel
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --durations 20 $(filter-out $(LONG),$(wildcard tests/e2e/test_*.py tests/integration/test_*.py))

long: setup tools ## What `test` leaves out: NVL72 trays, a node as an installer leaves it, FUSE mounts, HCA addresses, the collection, every role on one node
	$(BIN)/pytest -n 2 --dist loadfile $(LONG)
	@$(MAKE) --no-print-directory molecule SCENARIOS=$(LONG_SCENARIO)

e2e: ## Tests of the demo flow, of nodes that fail, and of other racks than the demo's
	$(BIN)/pytest tests/e2e

molecule: ## Roles on containers: check mode, converge, idempotence, validators
	@mkdir -p build/molecule
	@printf '%s\n' $(SCENARIOS) | xargs -P 2 -I{} scripts/molecule.sh {}

newest: setup ## Lint, unit tests and one molecule scenario with the newest ansible-core, on Python 3.12 or 3.13, in build/newest
	@scripts/newest.sh

acceptance: setup ## Slow, not part of `test`: kernel, huge pages, tuning and NFS on a virtual machine with its own kernel
	@scripts/acceptance.sh

mutation: setup ## Change every managed setting of lab nodes out of band; each must be detected and repaired; writes build/mutation.json
	PYTHONPATH=cli:lab:tools:validators:tests $(BIN)/python -m mutation

fuzz: setup ## A million hostile inputs for parsers and judge; writes build/fuzz.json
	PYTHONPATH=cli:lab:tools:validators:tests $(BIN)/python -m fuzz

culprits: setup ## Simulated fleets with bad HCAs, and real agents: how many are found in how many rounds; writes build/culprits.json
	PYTHONPATH=cli:lab:validators:tests $(BIN)/python -m culprits

faults: setup ## Racks with one known fault each, and healthy ones with noise: which are found, by part and next action; writes build/faults.json
	PYTHONPATH=cli:lab:tools:validators:tests $(BIN)/python -m faults

recorded: setup ## Read every recorded output in ../shared with the parser of its tool; writes build/recorded.json
	PYTHONPATH=cli:lab:tools:validators:tests $(BIN)/python -m recorded_outputs

cross-check: setup tools ## Real programs of Debian over the machine that the lab simulates, compared with the simulator; writes build/cross_check.json
	PYTHONPATH=cli:lab:tools:validators:tests $(BIN)/python -m cross_check

chaos: setup tools ## Kill `provision` at every step boundary, also with the power of the controller, on SQLite and PostgreSQL; writes build/chaos.json
	PYTHONPATH=cli:lab:tools:validators:tests $(BIN)/python -m chaos

scale: setup tools ## A fleet through 1 to 8 workers of the queue, and kills of workers, PostgreSQL and controller; writes build/scale.json
	PYTHONPATH=cli:lab:tools:validators:tests $(BIN)/python -m scale

drill: setup ## Let a node of a lab rack fail in the middle of runs: stopped, paused, without sshd, other host key, full disk, rebooted; writes build/drill.json
	PYTHONPATH=cli:lab:tools:validators:tests $(BIN)/python -m drill

pools: setup tools ## The pools on real schedulers: Slurm, and a kube-apiserver that is compiled once (ten minutes); writes build/pools.json
	@scripts/kube_apiserver.sh
	PYTHONPATH=cli:lab:tools:validators:tests $(BIN)/python -m pool_suites

pages: setup tools ## Reports of runs of 6 to 12,500 nodes in Chromium: size, elements, time to the failures, widths, screenshots; writes build/pages.json
	PYTHONPATH=cli:lab:tools:validators:tests $(BIN)/python -m pages

bench: setup ## Performance suite with two lab nodes and peer tools; writes build/bench.json
	@$(BIN)/python benchmarks/bench.py

docs: setup ## Build the documentation site into build/site
	$(BIN)/python -m sphinx -q -W --keep-going -d build/doctrees docs build/site

generate: ## Regenerate READMEs and reference pages
	$(BIN)/python scripts/generate.py

lock: ## Lock dependencies with hashes
	scripts/lock.sh

wheel: ## Build the wheel into build/dist
	$(BIN)/python -m hatchling build -t wheel -d build/dist

clean: ## Remove build output (not the lab)
	rm -rf build .mypy_cache .ruff_cache
