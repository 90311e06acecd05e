#!/bin/sh
# Fetches a real Fuseki server for the tests, by Maven: one jar that runs by itself.
#   sh tests/fuseki.sh [DIRECTORY]      (default: .cache, where the tests look)
# FUSEKI_VERSION chooses another version; 5.x needs Java 17, 6.x needs Java 21.
# Needs Maven: sh tests/apt.sh openjdk-17-jre-headless maven
set -eu
directory=${1:-.cache}
version=${FUSEKI_VERSION:-5.6.0}

mkdir -p "$directory"
[ -f "$directory/jena-fuseki-server-$version.jar" ] || mvn --batch-mode --quiet dependency:copy \
    -Dartifact="org.apache.jena:jena-fuseki-server:$version:jar" \
    -DoutputDirectory="$(cd "$directory" && pwd)"
