# make crawl   a whole crawl of a generated web on this machine
# make console such a crawl, slower, to be watched in a browser
# make report  the full report on such a crawl, in demo/report
# make test    the tests
# make slow    those that take longer: kills, workers, servers
# make compat  tests with each version of Scrapy that the crawler runs on
# make lint    format, lint, types
# make docs    the documentation as a site, in build/docs
# make bench   the benchmarks
# make results the tables of the papers, measured in some minutes, in docs/results.md
# make lock    locks/ after a change of requirements.txt or pyproject.toml
# make upgrade locks/ with the newest versions that these allow
# make sbom    what a crawl is made of, with hashes and licences, in build/sbom.json (CycloneDX)
# make digests the images of Dockerfile and compose.yaml, pinned to what their tags mean now; needs docker
# Each does all the set-up it needs; only Python 3.11 or newer and make must be there. What apt-get would install
# for the tests is said first and asked for; make APT=no does without, and skips the tests that need it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo

# What is installed is what locks/ names, to the byte, and nothing of it is built here: a wheel runs no code.
PIP := -m pip install --quiet --disable-pip-version-check
LOCKED := $(PIP) --require-hashes --only-binary :all:
ITSELF := -W ignore::UserWarning $(PIP) --no-deps --no-build-isolation --editable .

# Where the environment forbids Python to keep what it compiled, each of a thousand processes compiles it anew.
export PYTHONDONTWRITEBYTECODE =

# One thing after the other: all install into one environment.
.NOTPARALLEL:
.PHONY: crawl console report test slow compat lint docs bench results lock upgrade sbom digests clean

# Debian's Python comes without ensurepip: its package is asked for only when it is missing.
$(BIN)/python:
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); sh tests/apt.sh python3-venv && $(PYTHON) -m venv $(VENV); }

$(VENV)/crawl.ready: locks/crawl.txt locks/build.txt requirements.txt pyproject.toml | $(BIN)/python
	@echo "Installing rdfaspider into $(VENV) …"
	@$(BIN)/python $(LOCKED) -r locks/crawl.txt -r locks/build.txt
	@$(BIN)/python $(ITSELF)
	@touch $@

$(VENV)/test.ready: locks/test.txt requirements.txt pyproject.toml | $(BIN)/python
	@echo "Installing rdfaspider and its test tools into $(VENV) …"
	@$(BIN)/python $(LOCKED) -r locks/test.txt
	@$(BIN)/python $(ITSELF)
	@touch $@

crawl: $(VENV)/crawl.ready
	@BIN=$(BIN) DEMO=$(DEMO) sh tests/demo.sh

console: $(VENV)/crawl.ready
	@BIN=$(BIN) DEMO=$(DEMO) sh tests/console.sh

# It needs what the tests have: the extra `analysis`.
report: $(VENV)/test.ready
	@BIN=$(BIN) DEMO=$(DEMO) sh tests/report.sh

# The programs that tests use, with their Debian packages; apt.sh asks before it installs those that are not there.
PROGRAMS := java:default-jre-headless mvn:maven redis-cli:redis-tools chromium:chromium
.cache/apt.ready:
	@mkdir -p .cache
	@sh tests/apt.sh $$(for each in $(PROGRAMS); do command -v $${each%:*} > /dev/null || echo $${each#*:}; done) \
	  && touch $@ || echo "Tests that need them are skipped."

# The tests use a real RDF4J server where Java and Maven can be had, and say so where not.
.cache/rdf4j.ready: | .cache/apt.ready
	@echo "Fetching the RDF4J server …"
	@sh tests/rdf4j.sh .cache && touch $@ || echo "No RDF4J server: its tests are skipped."

# And a real Fuseki, whose queries look elsewhere than RDF4J's.
.cache/fuseki.ready: | .cache/rdf4j.ready
	@echo "Fetching the Fuseki server …"
	@sh tests/fuseki.sh .cache && touch $@ || echo "No Fuseki server: its tests are skipped."

# And a real Virtuoso, whose ways are its own. Not every Debian has its package.
.cache/virtuoso.ready: | .cache/apt.ready
	@command -v virtuoso-t > /dev/null || sh tests/apt.sh virtuoso-opensource-7-bin && touch $@ || echo "No Virtuoso server: its tests are skipped."

# And a real Redis, likewise.
.cache/redis.ready: | .cache/apt.ready
	@sh tests/redis.sh && touch $@ || echo "No Redis server: its tests are skipped."

# And a real web server.
.cache/nginx.ready: | .cache/apt.ready
	@sh tests/nginx.sh && touch $@ || echo "No nginx: its tests are skipped."

.cache/chromium.ready: tests/chromium.sh | .cache/apt.ready
	@sh tests/chromium.sh && touch $@ || echo "No Chromium: its tests are skipped."

# And what judges whether everybody can use a page.
.cache/axe.ready: tests/axe.sh
	@mkdir -p .cache
	@sh tests/axe.sh .cache && touch $@ || echo "No axe-core: its tests are skipped."

# And real tools of web archives.
.cache/replay.ready: locks/replay.txt locks/build.txt tests/replay.sh | $(BIN)/python .cache/rdf4j.ready
	@mkdir -p .cache
	@echo "Fetching pywb, wacz and jwarc …"
	@PYTHON=$(BIN)/python sh tests/replay.sh .cache && touch $@ || echo "No tools of archives: their tests are skipped."

SERVERS := .cache/rdf4j.ready .cache/fuseki.ready .cache/virtuoso.ready .cache/redis.ready .cache/nginx.ready .cache/replay.ready .cache/chromium.ready .cache/axe.ready

test: $(VENV)/test.ready $(SERVERS)
	@$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal

slow: $(VENV)/test.ready $(SERVERS)
	@$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal -m "slow and not campaign"
	@PYTHON=$(BIN)/python sh tests/compat.sh few

compat: $(VENV)/test.ready
	@PYTHON=$(BIN)/python sh tests/compat.sh all

lint: $(VENV)/test.ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

docs: $(VENV)/test.ready
	@$(BIN)/sphinx-build --quiet --fail-on-warning --builder html docs build/docs
	@echo "The documentation is in build/docs/index.html."

# jstyleson, which extruct needs, has no wheel: it is built with the setuptools of locks/test.txt.
bench: $(VENV)/test.ready .cache/rdf4j.ready .cache/redis.ready
	@$(BIN)/python $(LOCKED) --no-binary jstyleson --no-build-isolation -r locks/bench.txt
	@$(BIN)/python -m pytest tests/benchmarks -s
	@$(BIN)/python -m tests.benchmarks.results --long

# What takes longer, and was measured before, stays as it is.
results: $(VENV)/test.ready
	@$(BIN)/python -m tests.benchmarks.results

.cache/lock.ready: locks/lock.txt | $(BIN)/python
	@mkdir -p .cache
	@$(BIN)/python -m venv .cache/lock
	@.cache/lock/bin/python $(LOCKED) -r locks/lock.txt
	@touch $@

# The tests have the widest choice to make; the others follow it, so that all agree.
COMPILE = .cache/lock/bin/uv pip compile --quiet $(UPGRADE)
lock: .cache/lock.ready
	@$(COMPILE) pyproject.toml --extra redis --extra test --extra lint --extra analysis --extra docs -o locks/test.txt
	@$(COMPILE) requirements.txt -c locks/test.txt -o locks/crawl.txt
	@$(COMPILE) pyproject.toml --extra redis --extra bench -c locks/test.txt -o locks/bench.txt
	@$(COMPILE) --group replay -o locks/replay.txt
	@echo setuptools | $(COMPILE) - -c locks/test.txt -o locks/build.txt
	@echo uv | $(COMPILE) - -o locks/lock.txt

upgrade:
	@$(MAKE) --no-print-directory lock UPGRADE=--upgrade

sbom: $(VENV)/crawl.ready
	@mkdir -p build
	@$(BIN)/python locks/sbom.py locks/crawl.txt > build/sbom.json
	@echo "The bill of materials is build/sbom.json."

digests:
	@sh locks/digests.sh

clean:
	rm -rf $(VENV) $(DEMO) build *.egg-info
