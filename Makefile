# Millrace on one page: `make help` lists what there is to do. No environment needs to be active;
# every target first makes .venv from requirements.lock, once, and again when the lock changes.

PROFILE ?= quick
CORES ?= all
PAPER ?=
DATA ?=
LABEL ?=
REPETITIONS ?=
BASE ?=
PYTHON ?=

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := $(VENV)/millrace-packages
COMMAND := $(VENV)/millrace-command
PROFILES := $(filter-out config %.schema,$(basename $(notdir $(wildcard workflow/config/*.yaml))))
PAPERS := $(notdir $(patsubst %/figures.py,%,$(wildcard experiments/*/figures.py)))

# Arguments are looked at before anything is installed, so that a slip costs no minutes.
ifeq ($(filter $(PROFILE),$(PROFILES)),)
$(error millrace: there is no profile '$(PROFILE)'; the profiles are: $(PROFILES))
endif
ifneq ($(PAPER),)
ifeq ($(filter $(PAPER),$(PAPERS)),)
$(error millrace: there is no paper '$(PAPER)'; the papers are: $(PAPERS))
endif
endif
ifneq ($(DATA),)
ifeq ($(wildcard $(DATA)),)
$(error millrace: DATA=$(DATA) is not a file; give the path of a mapping, see "Your own data" in README.md)
endif
endif

SNAKEMAKE = $(BIN)/snakemake --cores $(CORES)
CONFIG = --config profile=$(PROFILE) $(if $(PAPER),paper=$(PAPER)) $(if $(DATA),data=$(DATA)) \
   $(if $(LABEL),label=$(LABEL)) $(if $(REPETITIONS),repetitions=$(REPETITIONS))
# pyproject.toml leaves out what is marked full; test-full takes it in again.
PYTEST = $(BIN)/python -m pytest -q -n 2 --dist loadgroup
# The same sources once more without the compiler: only then are branches counted and marked, and
# schedules chosen. What the proving ground does is the same in both forms, so it is run once.
# The longest tests stand first: a worker that begins one last leaves the other one idle. Of what is
# around a kernel some tests are run in this form only, a tenth of the time (tests/covering.py).
INTERPRETED = tests/interleaving tests/operators/core tests/operators/gate tests/contract \
   tests/operators/theta_join/test_theta_predicates.py tests/stress \
   tests/operators/streamcloud/test_processes.py tests/operators/streamcloud/test_carriers.py \
   tests/experiments/replay/streamcloud tests/experiments/families/streamcloud \
   tests/operators/aggregation/test_private_panes_ring.py \
   tests/experiments/replay/pipeline/test_pipeline_replay_others.py \
   tests/experiments/replay/aggregation/test_replay.py tests/operators/join/test_lock_step_join.py \
   tests/operators/theta_join/test_run_join.py tests/operators/join/test_run_join.py \
   tests/operators/join/test_failing_threads.py tests/operators/join/test_shared_join.py \
   tests/experiments/replay/theta_join/test_theta_replay_others.py \
   tests/experiments/replay/join/test_join_replay_refusals.py \
   tests/experiments/families/join/test_timed_in_parts.py \
   tests/operators/aggregation/test_run_aggregation.py tests/operators/index/test_run_index.py \
   tests/operators/index/test_olc_tree.py tests/operators/index/test_bw_tree.py \
   tests/operators/index/test_pim_tree_parallel.py tests/operators/index/test_locked_index.py \
   tests/operators/partition tests/operators/reorder tests/test_library.py \
   tests/operators/streamcloud/test_instance.py tests/operators/streamcloud/test_states.py \
   tests/operators/streamcloud/test_published_queries.py \
   tests/operators/streamcloud/test_run_streamcloud.py tests/operators/streamcloud/test_balancer.py \
   tests/operators/streamcloud/test_sources.py tests/operators/streamcloud/test_merger.py \
   tests/operators/streamcloud/test_transcripts.py tests/operators/streamcloud/test_costs.py \
   tests/operators/streamcloud/test_queries_page.py

# Joins that run alone, ten minutes each, since what they keep grows slowly if it does.
SOAKED = theta_join/scale-join theta_join/handshake theta_join/handshake-low-latency \
   join/pim-tree-parallel join/bw-tree join/olc-tree

.DEFAULT_GOAL := help
.PHONY: help setup figures plots test test-changed test-full soak lint clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile
	@echo "  Options of figures and plots: PROFILE=$$(echo $(PROFILES) | tr ' ' '|') PAPER=name DATA=mapping.yaml LABEL=name REPETITIONS=n CORES=n"

setup: $(COMMAND) ## Make .venv from requirements.lock, with the millrace command in it

figures: $(COMMAND) ## Generate data, measure, judge and draw (PROFILE=quick unless told)
	@$(SNAKEMAKE) $(CONFIG)

plots: $(COMMAND) ## Draw again from the raw results that exist, without measuring
	@$(SNAKEMAKE) plots $(CONFIG) measure=False

test: $(COMMAND) ## Run the tests, compiled, and the lock-free parts once more interpreted
	@echo "millrace: the lock-free parts, interpreted"
	@NUMBA_DISABLE_JIT=1 $(PYTEST) --hypothesis-profile=interpreted $(INTERPRETED)
	@echo "millrace: all tests, compiled"
	@$(PYTEST) --ignore=tests/interleaving tests

# Which tests these are follows from imports: tests/changes. BASE is any commit.
test-changed: $(COMMAND) ## Run the tests that a change since BASE can reach (where main was left, unless told)
	@$(BIN)/python -m tests.changes --base "$(BASE)" --interpreted $(INTERPRETED)

test-full: $(COMMAND) ## Run the product of all cases (an hour and a half)
	@NUMBA_DISABLE_JIT=1 $(PYTEST) -m "" --hypothesis-profile=interpreted $(INTERPRETED)
	@$(PYTEST) -m "" --hypothesis-profile=full --ignore=tests/interleaving tests

soak: $(COMMAND) ## Run benches at full rate, then joins of several threads, ten minutes each: memory stays flat
	@$(BIN)/python -m experiments.soak
	@for join in $(SOAKED); do $(BIN)/python -m experiments.soak --variant $$join || exit 1; done

lint: $(COMMAND) ## Check style, formatting, the direction of imports and the workflow
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports
	@$(BIN)/snakefmt --check Snakefile workflow
	@$(BIN)/snakemake --lint

clean: ## Remove what was made: results, caches and .venv
	rm -rf results .snakemake .venv .pytest_cache .ruff_cache .hypothesis \
	   .import_linter_cache .kernel-cache spark-warehouse millrace.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first Python that is new enough, or the one the user named.
define find_python
for candidate in $(if $(PYTHON),"$(PYTHON)",python3 python3.14 python3.13 python3.12 python3.11 python); do \
  if "$$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
    >/dev/null 2>&1; then python=$$candidate; break; fi; \
done; \
if [ -z "$$python" ]; then \
  echo "millrace: Python 3.11 to 3.14 is needed and none was found; install one, or name it: make setup PYTHON=/path/to/python3" >&2; \
  exit 1; \
fi; \
if ! "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
  echo "millrace: $$python cannot make environments; install its venv module (on Debian and Ubuntu: apt install python3-venv)" >&2; \
  exit 1; \
fi
endef

# The stamp is written last, so that an interrupted set-up is taken up again. Another lock begins
# with an empty environment: pip would keep what the lock does not name any more, and refuses to
# lower, with hashes, what a package wants with an extra.
$(PACKAGES): requirements.lock
	@$(find_python); \
	count=$$(grep -c '==' requirements.lock); \
	echo "millrace: setting up $(VENV): $$count packages, about 0.6 GB to fetch and 1.7 GB on disk" >&2; \
	if cmp -s requirements.lock $(VENV)/requirements.lock; then clear=; else clear=--clear; fi; \
	"$$python" -m venv $$clear $(VENV) && cp requirements.lock $(VENV)/ || exit 1; \
	{ $(BIN)/python -m pip install --disable-pip-version-check --no-input --require-hashes \
	    -r requirements.lock 2>&1; echo "exit status $$?"; } \
	| tee $(VENV)/setup.log \
	| awk -v count="$$count" ' \
	    /^(Collecting|Processing|Ignoring|Requirement already)/ { if (++seen % 30 == 0) \
	       { print "millrace: " seen " of " count " packages looked up"; fflush() } } \
	    /^Installing collected/ { print "millrace: unpacking them"; fflush() }' >&2; \
	if [ "$$(tail -n 1 $(VENV)/setup.log)" != "exit status 0" ]; then \
	  tail -n 15 $(VENV)/setup.log >&2; \
	  echo "millrace: the packages could not be installed; the whole log is $(VENV)/setup.log" >&2; \
	  exit 1; \
	fi
	@touch $@

$(COMMAND): $(PACKAGES) pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
	   --no-build-isolation --editable .
	@touch $@
	@echo "millrace: ready; the command is $(BIN)/millrace" >&2
