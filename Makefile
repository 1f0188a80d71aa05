# Every target makes what it needs. `make help` lists them.

PYTHON ?= python3
UV     ?= uv
ARGS   ?=

venv := .venv
bin  := $(venv)/bin

# Nothing of a developer's own configuration decides what a check says.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of processes: none should compile again what another has compiled.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@echo "make TARGET [PYTHON=python3.12] [ARGS='...']"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(venv)/.dev ## Run every access pattern of the four designs, and show each
	@$(bin)/keyfold demo $(ARGS)

.PHONY: test
test: $(venv)/.dev ## Run the tests, all but the long ones
	$(bin)/pytest -n 2 $(ARGS)

.PHONY: test-long
test-long: $(venv)/.dev ## Search for failures, with new random choices in each run
	$(bin)/pytest -n 2 -m "(long or hypothesis) and not endpoints" --hypothesis-profile=long --explore $(ARGS)

.PHONY: test-endpoints
test-endpoints: $(venv)/.dev ## Run cases, stores and designs on a server, by two clients
	$(bin)/pytest -n 2 -m endpoints tests/conformance tests/unit/store tests/unit/designs \
		tests/unit/cli/test_demo.py tests/unit/cli/test_document_rows.py \
		tests/unit/cli/test_stories.py $(ARGS)

engines := dynalite dynamodb-local moto

.PHONY: test-engines
test-engines: $(engines:%=test-%) ## Run stores and designs on the engines of others, one by one

.PHONY: $(engines:%=test-%)
$(engines:%=test-%): test-%: $(venv)/.dev # Run them on one of these: make test-moto
	$(bin)/python -m tests.endpoints.run $* -n 2 $(ARGS)

.PHONY: test-exports
test-exports: $(venv)/.dev ## Check exported files with the tools that they are for
	$(bin)/pytest -n 2 -m exports tests/exports $(ARGS)

.PHONY: test-cdk
test-cdk: $(venv)/.dev ## Synthesise exported CDK stacks (installs 400 MB)
	$(bin)/pytest -m cdk tests/exports $(ARGS)

.PHONY: test-frameworks
test-frameworks: $(venv)/.dev ## Run the stores of agents' frameworks (installs 190 MB)
	$(bin)/pytest -n 2 -m frameworks tests/frameworks $(ARGS)

.PHONY: test-browser
test-browser: $(venv)/.dev ## Use the studio in Chromium, which has to be installed
	$(bin)/pytest -n 2 -m browser tests/browser $(ARGS)

.PHONY: screenshots
screenshots: $(venv)/.dev ## Take the pictures of the studio in docs/studio anew
	$(bin)/pytest -m browser tests/browser/test_screenshots.py --write-screenshots $(ARGS)

.PHONY: test-minimums
test-minimums: $(venv)/.dev ## Run some tests with the oldest dependencies that are declared
	$(bin)/python -m tests.minimums.run $(ARGS)

.PHONY: test-hostile
test-hostile: $(venv)/.dev ## Measure a polite client beside hostile ones, on a quiet machine
	$(bin)/python -m tests.hostile.load $(ARGS)

.PHONY: mutants
mutants: $(venv)/.dev ## Change guards, signatures, cursors, storage and keys; the tests must notice
	$(bin)/python -m tests.mutants.run $(ARGS)

.PHONY: check
check: $(venv)/.dev ## Lint, check formatting, types, imports and generated files
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/pyright
	$(bin)/mypy
	$(bin)/pytest -q tests/unit/test_imports.py
	$(bin)/python scripts/generate_shapes.py --check
	$(bin)/python scripts/generate_docs.py --check

.PHONY: format
format: $(venv)/.dev ## Format the code and mend what the linter can
	$(bin)/ruff check --fix .
	$(bin)/ruff format .

.PHONY: docs
docs: $(venv)/.dev ## Write the generated parts of the documentation anew
	$(bin)/python scripts/generate_docs.py

.PHONY: shapes
shapes: $(venv)/.dev ## Write the shapes of requests anew, from the API's model
	$(bin)/python scripts/generate_shapes.py

benches := engine wire inprocess store guard checks client service

.PHONY: bench
bench: $(benches:%=bench-%) ## Measure everything, side by side with its peers

.PHONY: $(benches:%=bench-%)
$(benches:%=bench-%): bench-%: $(venv)/.bench # Measure one of them: make bench-wire
	$(bin)/python -m benchmarks.bench_$* $(ARGS)

.PHONY: oracle
oracle: $(venv)/.dev ## Compare the engine's answers with DynamoDB Local's (needs Java, Maven)
	$(bin)/python tests/oracle/run.py $(ARGS)

compile := pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url

.PHONY: lock
lock: ## Pin the newest dependencies (needs uv)
	$(UV) $(compile) pyproject.toml --all-extras --group dev --output-file requirements-dev.txt
	$(UV) $(compile) --group bench --constraint requirements-dev.txt \
		--output-file requirements-bench.txt
	$(UV) $(compile) tests/clients/requirements-current.in \
		--output-file tests/clients/requirements-current.txt
	$(UV) $(compile) tests/clients/requirements-aioboto3.in \
		--output-file tests/clients/requirements-aioboto3.txt
	$(UV) $(compile) tests/frameworks/requirements.in \
		--output-file tests/frameworks/requirements.txt
	$(UV) $(compile) --resolution lowest-direct --all-extras pyproject.toml \
		tests/minimums/requirements.in --output-file tests/minimums/requirements.txt
	$(UV) $(compile) tests/endpoints/requirements-moto.in \
		--output-file tests/endpoints/requirements-moto.txt
	$(UV) $(compile) tests/mutants/requirements.in --constraint requirements-dev.txt \
		--output-file tests/mutants/requirements.txt
	$(UV) $(compile) tests/exports/requirements-validators.in \
		--output-file tests/exports/requirements-validators.txt
	$(UV) $(compile) tests/exports/requirements-cdk.in \
		--output-file tests/exports/requirements-cdk.txt
	$(UV) $(compile) --no-deps tests/exports/requirements-mcp.in \
		--output-file tests/exports/requirements-mcp.txt

.PHONY: clean
clean: ## Remove what the other targets made
	rm -rf $(venv) .clients build dist .hypothesis .pytest_cache .ruff_cache

# Stamps: a file newer than what it depends on means that the step need not run again.

$(venv)/.dev: requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "make: $(PYTHON) is older than Python 3.11. Name another: make PYTHON=python3.12" >&2; \
		exit 1; }
	$(PYTHON) -m venv $(venv)
	$(bin)/python -m pip install --quiet --require-hashes --requirement requirements-dev.txt
	$(bin)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@# As an installation would: a program that starts need not compile what it imports.
	$(bin)/python -m compileall -q src
	@touch $@

$(venv)/.bench: $(venv)/.dev requirements-bench.txt
	$(bin)/python -m pip install --quiet --require-hashes --requirement requirements-bench.txt
	@touch $@
