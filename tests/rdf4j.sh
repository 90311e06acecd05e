#!/bin/sh
# Fetches a real RDF4J server for the tests, by Maven: the server's war file and a container to run it.
#   sh tests/rdf4j.sh [DIRECTORY]      (default: .cache, where the tests look)
# RDF4J_VERSION chooses another version; it must run in a javax.servlet container, so below 6.
# Needs Java 11 or newer and Maven: sh tests/apt.sh openjdk-17-jre-headless maven
set -eu
directory=${1:-.cache}
version=${RDF4J_VERSION:-5.0.3}
jetty=9.4.54.v20240208

copy() {
    [ -f "$directory/$2" ] || mvn --batch-mode --quiet dependency:copy \
        -Dartifact="$1" -DoutputDirectory="$(cd "$directory" && pwd)"
}

mkdir -p "$directory"
copy "org.eclipse.jetty:jetty-runner:$jetty:jar" "jetty-runner-$jetty.jar"
copy "org.eclipse.rdf4j:rdf4j-http-server:$version:war" "rdf4j-http-server-$version.war"
