# Millrace on one page: `make help` lists what there is to do. No environment needs to be active;
# every target first makes .venv from requirements.lock, once, and again when the lock changes.

PROFILE ?= quick
CORES ?= all
PAPER ?=
DATA ?=
LABEL ?=
REPETITIONS ?=
PEERS ?=
BASE ?=
PYTHON ?=

SHELL := /bin/sh
comma := ,
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := $(VENV)/millrace-packages
COMMAND := $(VENV)/millrace-command
PROFILES := $(filter-out config %.schema,$(basename $(notdir $(wildcard workflow/config/*.yaml))))
# What users would take instead; those that are packages of requirements-peers.lock are installed.
PEERS_THERE := $(filter-out __init__,$(basename $(notdir $(wildcard experiments/peers/engines/*.py))))
PEERS_NAMED = $(subst $(comma), ,$(PEERS))
PEERS_LOCKED := $(shell sed -n 's/^\([a-z0-9-]*\)==.*/\1/p' requirements-peers.lock)
EXTRAS = $(addprefix $(VENV)/millrace-peer-,$(filter $(PEERS_LOCKED),$(PEERS_NAMED)))
PAPERS := $(notdir $(patsubst %/figures.py,%,$(wildcard experiments/*/figures.py)))

# A value for the shell, whatever letters it has; and one that Snakemake is to read as text.
quoted = '$(subst ','\'',$(1))'
text = $(call quoted,'$(subst ','',$(1))')
matches = $(shell printf %s $(call quoted,$(1)) | grep -qxE '$(2)' && echo yes)

# Arguments are looked at before anything is installed, so that a slip costs no minutes.
ifneq ($(words $(PROFILE)) $(filter $(PROFILE),$(PROFILES)),1 $(PROFILE))
$(error millrace: there is no profile '$(PROFILE)'; the profiles are: $(PROFILES))
endif
ifneq ($(PAPER),)
ifneq ($(words $(PAPER)) $(filter $(PAPER),$(PAPERS)),1 $(PAPER))
$(error millrace: there is no paper '$(PAPER)'; the papers are: $(PAPERS))
endif
endif
ifneq ($(DATA),)
ifneq ($(shell test -f $(call quoted,$(DATA)) && echo yes),yes)
$(error millrace: DATA=$(DATA) is not a file; give the path of a mapping, see "Your own data" in README.md)
endif
endif
ifneq ($(LABEL),)
ifneq ($(call matches,$(LABEL),[A-Za-z0-9][A-Za-z0-9_.-]{0$(comma)99}),yes)
$(error millrace: LABEL=$(LABEL) cannot be; it may be up to 100 letters, digits, '_', '.' and '-', no sign in front)
endif
endif
ifneq ($(REPETITIONS),)
ifneq ($(call matches,$(REPETITIONS),[1-9][0-9]{0$(comma)5}),yes)
$(error millrace: REPETITIONS=$(REPETITIONS) cannot be; it may be a whole number of at least 1)
endif
endif
ifneq ($(filter-out $(PEERS_THERE),$(PEERS_NAMED)),)
$(error millrace: there is no peer '$(firstword $(filter-out $(PEERS_THERE),$(PEERS_NAMED)))'; the peers are: $(PEERS_THERE); name some of them, as in PEERS=duckdb$(comma)polars)
endif
ifneq ($(call matches,$(CORES),all|[1-9][0-9]*),yes)
$(error millrace: CORES=$(CORES) cannot be; it may be all or a whole number of at least 1)
endif

SNAKEMAKE = $(BIN)/snakemake --cores $(CORES)
CONFIG = --config profile=$(PROFILE) $(if $(PAPER),paper=$(PAPER)) \
   $(if $(DATA),data=$(call text,$(DATA))) $(if $(LABEL),label=$(call text,$(LABEL))) \
   $(if $(REPETITIONS),repetitions=$(REPETITIONS)) \
   $(if $(PEERS),peers=$(call text,$(subst $() ,$(comma),$(strip $(PEERS_NAMED)))))
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
   tests/cases/test_mapped_files.py tests/cases/test_times_in_files.py \
   tests/cases/test_keys_in_files.py tests/cases/test_split_files.py \
   tests/experiments/replay/aggregation/test_replay.py \
   tests/operators/join/test_lock_step_join.py \
   tests/operators/theta_join/test_run_join.py tests/operators/join/test_run_join.py \
   tests/operators/join/test_failing_threads.py tests/operators/join/test_shared_join.py \
   tests/experiments/replay/theta_join/test_theta_replay_others.py \
   tests/experiments/replay/join/test_join_replay_refusals.py \
   tests/experiments/families/join/test_timed_in_parts.py \
   tests/experiments/families/join/test_join_bench.py \
   tests/operators/aggregation/test_run_aggregation.py tests/operators/index/test_run_index.py \
   tests/operators/index/test_olc_tree.py tests/operators/index/test_bw_tree.py \
   tests/operators/index/test_pim_tree_parallel.py tests/operators/index/test_locked_index.py \
   tests/operators/partition tests/operators/reorder tests/test_library.py tests/test_examples.py \
   tests/operators/running/test_stalls.py tests/operators/running/test_slow_functions.py \
   tests/operators/streamcloud/test_instance.py tests/operators/streamcloud/test_states.py \
   tests/operators/streamcloud/test_rescaling.py tests/operators/streamcloud/spark/test_epochs.py \
   tests/operators/streamcloud/test_published_queries.py \
   tests/operators/streamcloud/test_run_streamcloud.py tests/operators/streamcloud/test_balancer.py \
   tests/operators/streamcloud/test_sources.py tests/operators/streamcloud/test_merger.py \
   tests/operators/streamcloud/test_transcripts.py tests/operators/streamcloud/test_costs.py \
   tests/operators/streamcloud/test_queries_page.py \
   tests/operators/streamcloud/test_rescaling_refusals.py \
   tests/operators/streamcloud/spark/test_forms.py \
   tests/operators/streamcloud/spark/test_best_effort_forms.py \
   tests/operators/streamcloud/spark/test_refusals.py \
   tests/operators/streamcloud/spark/test_refused_states.py \
   tests/operators/streamcloud/spark/test_transcripts_on_levels.py

# Joins that run alone, ten minutes each, since what they keep grows slowly if it does.
SOAKED = theta_join/scale-join theta_join/handshake theta_join/handshake-low-latency \
   join/pim-tree-parallel join/bw-tree join/olc-tree

.DEFAULT_GOAL := help
.PHONY: help setup figures plots test test-changed test-full soak lint clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile
	@echo "  Options of figures and plots: PROFILE=$$(echo $(PROFILES) | tr ' ' '|') PAPER=name DATA=mapping.yaml LABEL=name REPETITIONS=n PEERS=$$(echo $(PEERS_THERE) | tr ' ' ',') CORES=n"

setup: $(COMMAND) $(EXTRAS) ## Make .venv from requirements.lock, with the millrace command in it

figures: $(COMMAND) $(EXTRAS) ## Generate data, measure, judge and draw (PROFILE=quick unless told)
	@$(SNAKEMAKE) $(CONFIG)

plots: $(COMMAND) $(EXTRAS) ## Draw again from the raw results that exist, without measuring
	@$(SNAKEMAKE) plots $(CONFIG) measure=False

test: $(COMMAND) ## Run the tests, compiled, and the lock-free parts once more interpreted
	@echo "millrace: the lock-free parts, interpreted"
	@NUMBA_DISABLE_JIT=1 $(PYTEST) --hypothesis-profile=interpreted $(INTERPRETED)
	@echo "millrace: all tests, compiled"
	@$(PYTEST) --ignore=tests/interleaving tests

# Which tests these are follows from imports: tests/changes. BASE is any commit.
test-changed: $(COMMAND) ## Run the tests that a change since BASE can reach (where main was left, unless told)
	@$(BIN)/python -m tests.changes --base $(call quoted,$(BASE)) --interpreted $(INTERPRETED)

test-full: $(COMMAND) ## Run the product of all cases (an hour and a half)
	@NUMBA_DISABLE_JIT=1 $(PYTEST) -m "" --hypothesis-profile=interpreted $(INTERPRETED)
	@$(PYTEST) -m "" --hypothesis-profile=full --ignore=tests/interleaving tests

soak: $(COMMAND) ## Run benches at full rate, then joins of several threads, ten minutes each: memory stays flat
	@$(BIN)/python -m experiments.soak
	@$(BIN)/python -m experiments.soak --variant pipeline/ct --set form=blocks
	@$(BIN)/python -m experiments.soak --variant pipeline/ct --set form=blocks --rate 200000
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
for candidate in $(if $(PYTHON),$(call quoted,$(PYTHON)),python3 python3.14 python3.13 python3.12 python3.11 python); do \
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

# No peer brings or changes a package of requirements.lock. The stamp goes with the environment.
$(VENV)/millrace-peer-%: requirements-peers.lock $(PACKAGES)
	@echo "millrace: installing what the peer $* needs, up to 0.2 GB to fetch" >&2
	@awk '/^[a-z]/ { needed = /^$*[=-]/ } needed' requirements-peers.lock > $@.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
	   --require-hashes -r $@.lock
	@touch $@
