# make run and make test need nothing but Python 3.11, make and a C compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
WORKERS ?= 2

.PHONY: test-model recall-fit recall-check run serve api-check quick test lint check unsteady soak bench bench-peers docs docs-serve docs-version release clean

run: $(VENV)/.run
	$(BIN)/memorist demo

# The server and the inspector over a demo file; prints a one-time link.
serve: $(VENV)/.serve
	test -e build/demo.db || { mkdir -p build; $(BIN)/memorist demo --keep build/demo.db; }
	$(BIN)/memorist --url build/demo.db serve --link

# Under a minute on two cores, with no server started: linters, types, unit tests and the docs of the core.
quick: $(VENV)/.test
	$(BIN)/ruff check src packages tests bench examples
	$(BIN)/mypy
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal tests/unit tests/docs \
	    --ignore tests/unit/engine/servers --ignore tests/unit/stores/test_sqlite_log.py --ignore tests/unit/test_platforms.py \
	    --ignore tests/docs/test_site.py -k "not examples and not demo and not commands_of_a_page and not packed_form and not md or README \
	    or guide or first-memory or remembering or context"

test: lint check

# Everything but the linters. What failed beside other tests is run once more alone, and fails if it fails again; what passes
# alone is named "unsteady": a race in the code or in the test, to be mended as any defect.
check: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal || $(MAKE) --no-print-directory unsteady

unsteady: $(VENV)/.test
	@echo "Once more alone; what passes now is unsteady:"
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none --maxfail 3 -v

lint: $(VENV)/.test
	$(BIN)/ruff check src packages tests bench examples
	$(BIN)/ruff format --check src packages tests bench examples
	$(BIN)/mypy
	$(BIN)/pyright

# The inspector's JavaScript and CSS: Prettier, ESLint and TypeScript of the npm registry.
lint-inspector: $(VENV)/.test
	$(BIN)/python scripts/check-inspector

# The weights of recall, made anew from the data that bench/DATA.md names; the same data gives the same bytes.
recall-fit: $(VENV)/.test
	$(BIN)/python bench/recall/fit.py $(DATA) --date 2026-11-18 --write

# Fits the weights again and fails if a byte differs from the shipped ones.
recall-check: $(VENV)/.test
	$(BIN)/python bench/recall/fit.py $(DATA) --date 2026-11-18 --check

# The long run: more examples, more kills, more of every fault. Hours; a second call goes on where the first was stopped.
soak: $(VENV)/.test
	$(BIN)/python scripts/soak --workers $(WORKERS)

# MCP against programs of the npm registry, run with the Node that pyright brings: the conformance suite, the Inspector, and
# 1,000 random sequences of calls answered by server-memory and by us.
mcp-check: $(VENV)/.test
	$(BIN)/python -m tests.mcp_server.conform
	$(BIN)/python -m tests.mcp_server.compare_graph 1000

# The coding agents themselves, from the npm registry: each reads the configuration that `memorist install` writes, and those
# that start without a login run its hooks. 1.4 GB the first time.
agents-check: $(VENV)/.test
	$(BIN)/python -m tests.coding_agents.real_hosts

# The HTTP API against programs that read its document: Redocly's linter, then schemathesis on a real server, every operation.
api-check: $(VENV)/.test
	$(PIP) install --group api
	$(BIN)/python -m tests.server.lint
	$(BIN)/python -m pytest tests/server/typescript/check_types.py
	$(BIN)/python -m tests.server.fuzz

# The memory writer with a real small model: 500 messages of real chat, no crash, no invalid row. It takes hours on one core; a second
# call continues where the first was stopped. MODEL=qwen (1.5B), qwen-small (0.5B) or smollm2 (135M).
MODEL ?= qwen-small
MODEL_NAME = $(if $(filter qwen,$(MODEL)),qwen2.5-coder-1.5b,$(if $(filter smollm2,$(MODEL)),smollm2-135m,qwen2.5-coder-0.5b))
test-model: $(VENV)/.test
	scripts/serve-model $(MODEL) fetch-only
	scripts/serve-model $(MODEL) & server=$$!; trap "kill $$server" EXIT; \
	until $(BIN)/python -c "import urllib.request as r; r.urlopen('http://127.0.0.1:8091/v1/models')" 2>/dev/null; do kill -0 $$server && sleep 1 || exit 1; done; \
	$(BIN)/python -m bench.writer.small_model --model $(MODEL_NAME)

# The adapters with their frameworks, in an environment of their own.
test-adapters: .venv-adapters/.ready
	.venv-adapters/bin/python -m pytest -n $(WORKERS) --dist worksteal tests/adapters -p no:asyncio -W ignore::DeprecationWarning -W ignore::UserWarning

# Random programs on a framework's own store and on ours, 5,000 for each, which must give the same answers.
soak-adapters: .venv-adapters/.ready
	MEMORIST_ADAPTER_RUNS=5000 .venv-adapters/bin/python -m pytest -n $(WORKERS) --dist worksteal tests/adapters -k on_both -p no:asyncio \
	    -W ignore::DeprecationWarning -W ignore::UserWarning

# CrewAI is 0.9 GB, so its example has an environment of its own.
test-crewai:
	[ -x .venv-crewai/bin/python ] || $(PYTHON) -m venv .venv-crewai
	.venv-crewai/bin/python -m pip -qq --disable-pip-version-check install -e . 'crewai>=1.15.30'
	.venv-crewai/bin/python examples/crewai_agent.py

lint-adapters: .venv-adapters/.ready
	.venv-adapters/bin/mypy src/memorist/adapters packages/testing/src/memorist_testing/langgraph_saver.py packages/testing/src/memorist_testing/langgraph_store.py

# The frameworks' own tests with our classes in the place of theirs; their archives come from the package index.
test-upstream: .venv-adapters/.ready
	.venv-adapters/bin/python -m tests.upstream

# The newest release of every framework, whatever ranges were tested; reports which adapters broke. For a nightly run.
test-newest:
	scripts/test-newest $(PYTHON)

bench-adapters: .venv-adapters/.ready
	.venv-adapters/bin/python -m bench.adapters

.venv-adapters/.ready: pyproject.toml scripts/adapter-env
	scripts/adapter-env $(PYTHON)

bench: $(VENV)/.bench
	$(BIN)/python -m bench

bench-peers: $(VENV)/.bench
	$(BIN)/python -m bench --peers

# The site, into site/: without a network, and a broken link or an unknown name is an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

# The site as one version beside the others, committed to a branch of its own (`make docs-version VERSION=0.2`); pushes nothing.
DOCS_BRANCH ?= site-versions
docs-version: $(VENV)/.docs
	test -n "$(VERSION)" || { echo "say which: make docs-version VERSION=0.2"; exit 1; }
	PATH="$(CURDIR)/$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 mike deploy --branch $(DOCS_BRANCH) --update-aliases $(VERSION) latest
	PATH="$(CURDIR)/$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 mike set-default --branch $(DOCS_BRANCH) latest
	$(BIN)/mike list --branch $(DOCS_BRANCH)

# Wheel and sdist into dist/, checked, installed into an empty environment and tried. Publishes nothing.
release:
	PYTHON=$(PYTHON) scripts/release

clean:
	rm -rf site $(VENV) .venv-peers .venv-adapters .venv-crewai .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist

$(VENV)/.pip:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip
	touch $@

$(VENV)/.run: $(VENV)/.pip pyproject.toml
	$(PIP) install -e .
	$(BIN)/python -m compileall -q src
	touch $@

$(VENV)/.serve: $(VENV)/.run pyproject.toml
	$(PIP) install -e '.[server]'
	touch $@

$(VENV)/.test: $(VENV)/.pip pyproject.toml scripts/install-system
	scripts/install-system
	$(PIP) install -e '.[all]' -e packages/analyze -e packages/testing --group test --group lint --group docs
	$(BIN)/python -m compileall -q src packages
	touch $@

$(VENV)/.docs: $(VENV)/.run pyproject.toml
	$(PIP) install --group docs
	touch $@

$(VENV)/.bench: $(VENV)/.run pyproject.toml
	$(PIP) install --group bench
	touch $@
