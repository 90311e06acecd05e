# make crawl   a whole crawl of a generated web on this machine
# make test    the tests
# make lint    format, lint, types
# make bench   the benchmarks
# Each does all the set-up it needs; only Python 3.11 or newer and make must be there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo

.PHONY: crawl test lint bench clean

# Debian's Python comes without ensurepip: its package is asked for only when it is missing.
$(BIN)/python:
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "Installing python3-venv …"; \
	  if [ "$$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi; \
	  $$sudo apt-get update -qq && $$sudo apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); }

$(VENV)/crawl.ready: requirements.txt pyproject.toml | $(BIN)/python
	@echo "Installing rdfaspider into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/test.ready: requirements.txt pyproject.toml | $(BIN)/python
	@echo "Installing rdfaspider and its test tools into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint]'
	@touch $@

crawl: $(VENV)/crawl.ready
	@BIN=$(BIN) DEMO=$(DEMO) sh tests/demo.sh

# The tests use a real RDF4J server where Java and Maven can be had, and say so where not.
.cache/rdf4j.ready:
	@mkdir -p .cache
	@if ! command -v mvn > /dev/null || ! command -v java > /dev/null; then \
	  if [ "$$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi; echo "Installing Java and Maven …"; \
	  $$sudo apt-get update -qq && $$sudo apt-get install -y -qq default-jre-headless maven > /dev/null; fi || true
	@echo "Fetching the RDF4J server …"
	@sh tests/rdf4j.sh .cache && touch $@ || echo "No RDF4J server: its tests are skipped."

# And a real Fuseki, whose queries look elsewhere than RDF4J's.
.cache/fuseki.ready: | .cache/rdf4j.ready
	@echo "Fetching the Fuseki server …"
	@sh tests/fuseki.sh .cache && touch $@ || echo "No Fuseki server: its tests are skipped."

# And a real Redis, likewise.
.cache/redis.ready:
	@mkdir -p .cache
	@sh tests/redis.sh && touch $@ || echo "No Redis server: its tests are skipped."

# And a real web server.
.cache/nginx.ready:
	@mkdir -p .cache
	@sh tests/nginx.sh && touch $@ || echo "No nginx: its tests are skipped."

SERVERS := .cache/rdf4j.ready .cache/fuseki.ready .cache/redis.ready .cache/nginx.ready

test: $(VENV)/test.ready $(SERVERS)
	@$(BIN)/python -m pytest --numprocesses=auto

lint: $(VENV)/test.ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/test.ready $(SERVERS)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@$(BIN)/python -m pytest tests/benchmarks -s

clean:
	rm -rf $(VENV) $(DEMO) build *.egg-info
