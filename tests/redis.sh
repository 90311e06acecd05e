#!/bin/sh
# Makes sure that a real Redis server is there for the tests.
#   sh tests/redis.sh
# Debian's package redis-tools, which apt.sh installs, has the program of the server and no service: nothing is
# started here. The tests start servers of their own, on free ports of the loopback interface, and end them.
set -eu
command -v redis-cli > /dev/null
# Elsewhere the same package has it under the name of its checker only: it is one program.
if ! command -v redis-server > /dev/null; then
    mkdir -p .cache
    ln -sf "$(command -v redis-check-rdb)" .cache/redis-server
fi
