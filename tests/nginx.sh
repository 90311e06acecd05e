#!/bin/sh
# Fetches a real web server for the tests: Debian's nginx, unpacked and not installed, so no service starts.
#   sh tests/nginx.sh [DIRECTORY]      (default: .cache, where the tests look)
set -eu
directory=${1:-.cache}
if command -v nginx > /dev/null || [ -x "$directory/nginx/usr/sbin/nginx" ]; then exit 0; fi
echo "Fetching nginx …"
mkdir -p "$directory/nginx"
cd "$directory/nginx"
if [ "$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi
$sudo apt-get update -qq
apt-get download -qq nginx > /dev/null 2>&1
dpkg -x nginx_*.deb .
usr/sbin/nginx -v 2> /dev/null
