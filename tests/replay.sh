#!/bin/sh
# Fetches tools that judge and replay archives, for the tests: pywb, wacz, cdxj-indexer and surt into an
# environment of their own (pywb wants an old Redis client), and jwarc by Maven.
#   sh tests/replay.sh [DIRECTORY]      (default: .cache, where the tests look)
# Needs Java 11 or newer and Maven for jwarc: sh tests/apt.sh openjdk-17-jre-headless maven
set -eu
directory=${1:-.cache}
jwarc=0.31.1
pip="$directory/replay/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes"

mkdir -p "$directory"
rm -rf "$directory/replay"
"${PYTHON:-python3}" -m venv "$directory/replay"
# surt has no wheel: it is built with the setuptools of the lock.
$pip --only-binary :all: -r locks/build.txt
$pip --only-binary :all: --no-binary surt --no-build-isolation --no-deps -r locks/replay.txt
touch "$directory/replay/ready"
[ -f "$directory/jwarc-$jwarc.jar" ] || mvn --batch-mode --quiet dependency:copy \
    -Dartifact="org.netpreserve:jwarc:$jwarc:jar" -DoutputDirectory="$(cd "$directory" && pwd)" ||
    echo "No jwarc: its tests are skipped."
