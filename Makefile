# Two commands do all the set-up on a fresh machine with Python and make: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.filled
DOCS   := $(VENV)/.filled-docs
TOOLS  := $(VENV)/.filled-release

# Each of these is covered whole, by its own tests alone: `make coverage`.
PURE := gotemplate semantics templates rules config routing lint

# The parts of the tests, those that take longest first: large folders, the pure packages, and all others.
PARTS := hostile s3 web end_to_end others pure cli
LARGE := $(filter-out others pure,$(PARTS))

# Folders whose tests run with those of another one, and import the same.
WITH_web := service
WITH_cli := tools

# Many tests wait for a process or a time-out: more processes than processors keep these busy.
PROCESSES := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) * 2)))

# Hundreds of processes are started: without bytecode each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test $(PARTS:%=test-%) coverage $(PURE:%=coverage-%) check integration docs screenshots dist deb release-check hashes man completions transcripts clean
.DEFAULT_GOAL := help

help:  ## Say what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

$(STAMP): pyproject.toml constraints.txt
	@echo "Installing what the project needs into $(VENV): a minute or two"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[demo,http2,lsp,otel,readme]' --group test --group check
	@touch $@

demo: $(STAMP)  ## Run the service on an S3 in the process, with sample objects and the gallery of rules
	$(BIN)/tornado-proxy demo

test: $(STAMP)  ## Run the tests, but for those that need a browser, systemd or radosgw
	@mkdir -p build
	@$(MAKE) --no-print-directory --keep-going --jobs $(PROCESSES) $(PARTS:%=test-%)

# A large folder has a process of its own, which collects these tests only; each worker of pytest-xdist would collect all.
TEST    = $(BIN)/python -m pytest -q -m 'not integration'
TO_LOG  = >build/$@.log 2>&1 || { cat build/$@.log; false; }
OUTCOME = $$(tail -n 1 build/$@.log)

# These take longest. A file's tests run in one process, in their order: they share servers, and some change them.
test-hostile: SPREAD = -n 2 --dist loadfile --no-loadscope-reorder

$(LARGE:%=test-%): test-%: $(STAMP)
	@$(TEST) $(SPREAD) $(patsubst %,tests/%,$* $(WITH_$*)) $(TO_LOG)
	@echo "$*: $(OUTCOME)"

test-others: $(STAMP)
	@$(TEST) $(patsubst %,--ignore tests/%,$(PURE) $(LARGE) $(WITH_web) $(WITH_cli)) $(TO_LOG)
	@echo "others: $(OUTCOME)"

test-pure: $(STAMP)
	@$(TEST) $(PURE:%=tests/%) $(TO_LOG)
	@echo "pure packages: $(OUTCOME)"

# Twice the time of these tests, which `make test` therefore runs without counting. Chance must not decide what they reach.
coverage: $(STAMP)  ## Run the tests of the pure packages, each of which they must cover whole, branches included
	@mkdir -p build
	@$(MAKE) --no-print-directory --keep-going --jobs $(PROCESSES) $(PURE:%=coverage-%)

$(PURE:%=coverage-%): coverage-%: $(STAMP)
	@HYPOTHESIS_PROFILE=repeatable COVERAGE_FILE=build/$*.coverage $(TEST) tests/$* --cov $(if $(wildcard tornado_proxy/$*),tornado_proxy.$*,$*) --cov-branch \
	  --cov-report term-missing:skip-covered --cov-fail-under 100 $(TO_LOG)
	@echo "$*: 100 % branch coverage by its own tests, $(OUTCOME)"

check: $(STAMP)  ## Format, lint, types, architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

integration: $(STAMP)  ## Install a browser, systemd and radosgw, and run the tests that need them
	tests/integration/install
	$(BIN)/python -m pytest -m integration
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -q -n $(PROCESSES) -m 'hypothesis and not integration'

# Archives of one commit are the same, whenever they are made.
dist deb release-check: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || date +%s)

dist: $(STAMP)  ## Build the wheel and the sdist, beside the versions of the dependencies that were tested
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	cp constraints.txt dist

deb: dist  ## Build a Debian package, for the release of Debian that this is
	packaging/deb dist/*.whl dist

$(TOOLS): $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group release
	@touch $@

release-check: $(TOOLS) deb  ## Check all that a release is made of: wheel, sdist, package, contents, installation, workflows
	packaging/release-check $(BIN) dist build

hashes: $(TOOLS)  ## Write dist/requirements.txt: the hashes of all files of each dependency, for packages and images
	$(BIN)/uv pip compile --quiet --extra http2 --extra readme --generate-hashes --no-header --no-annotate --python-version 3.11 --universal \
	  --constraint constraints.txt --output-file dist/requirements.txt pyproject.toml

completions: $(STAMP)  ## Write the scripts that complete command lines anew, after an argument has changed
	$(BIN)/python packaging/complete.py packaging/completions

man: $(STAMP)  ## Make the man pages, to be read with `man -l build/man/man1/tornado-proxy.1`; a wheel carries them
	$(BIN)/python packaging/manual.py build/man

$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group docs
	@touch $@

docs: $(DOCS)  ## Build the manual as a site, build/site; a warning, such as a dead link, is an error
	PYTHONPATH=packaging $(BIN)/zensical build --strict --clean

screenshots: $(STAMP)  ## Take the pictures of the manual anew, in a browser on the demo
	tests/integration/install browser
	UPDATE_SCREENSHOTS=1 $(BIN)/python -m pytest -q -m integration tests/integration/browser/test_screenshots.py

transcripts: $(STAMP)  ## Write down anew what the command lines in tests/cli/transcripts do, to be reviewed
	UPDATE_TRANSCRIPTS=1 $(BIN)/python -m pytest -q tests/cli/test_transcripts.py

clean:  ## Remove what the other commands made
	rm -rf $(VENV) dist build .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
