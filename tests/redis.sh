#!/bin/sh
# Makes sure that a real Redis server is there for the tests.
#   sh tests/redis.sh
# Debian's package redis-tools has the program of the server and no service: nothing is started here. The
# tests start servers of their own, on free ports of the loopback interface, and end them.
set -eu
if command -v redis-server > /dev/null && command -v redis-cli > /dev/null; then exit 0; fi
if [ "$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi
echo "Installing Redis …"
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends redis-tools > /dev/null
# Elsewhere the same package has it under the name of its checker only: it is one program.
if ! command -v redis-server > /dev/null; then
    mkdir -p .cache
    ln -sf "$(command -v redis-check-rdb)" .cache/redis-server
fi
