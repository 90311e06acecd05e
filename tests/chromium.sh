#!/bin/sh
# Makes sure that a real browser is there for the tests: Debian's Chromium, which apt.sh installs.
set -eu
chromium --version > /dev/null
