#!/bin/sh
# Installs a real browser for the tests: Debian's Chromium.
set -eu
if command -v chromium > /dev/null; then exit 0; fi
echo "Fetching Chromium …"
if [ "$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends chromium > /dev/null 2>&1
chromium --version > /dev/null
