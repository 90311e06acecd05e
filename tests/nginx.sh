#!/bin/sh
# Fetches a real web server for the tests: Debian's nginx, unpacked and not installed, so no service starts.
#   sh tests/nginx.sh [DIRECTORY]      (default: .cache, where the tests look)
set -eu
directory=${1:-.cache}
if command -v nginx > /dev/null || [ -x "$directory/nginx/usr/sbin/nginx" ]; then exit 0; fi
echo "Fetching nginx …"
mkdir -p "$directory/nginx/lists"
cd "$directory/nginx"
# With lists of packages of its own it needs no rights.
apt="apt-get -qq -o Dir::State::Lists=$PWD/lists -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache="
$apt update > /dev/null 2>&1
$apt download nginx > /dev/null 2>&1
rm -r lists
dpkg -x nginx_*.deb .
usr/sbin/nginx -v 2> /dev/null
