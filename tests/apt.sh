#!/bin/sh
# Installs Debian packages, for the tests: apt.sh PACKAGE …
# Says first which. On a terminal it asks; APT=no declines, and what needs them does without.
set -eu
[ $# -gt 0 ] || exit 0
if ! command -v apt-get > /dev/null; then
    echo "Not installed, and there is no apt-get here: $*"
    exit 1
fi
echo "To be installed with apt-get: $*"
if [ "${APT:-}" = no ]; then
    echo "Not installed, because of APT=no."
    exit 1
elif [ -n "${APT:-}" ] || [ ! -t 0 ]; then
    echo "Installing them; make APT=no does without."
else
    printf 'Install them? [Y/n] '
    read -r answer
    case $answer in [Nn]*) exit 1 ;; esac
fi
if [ "$(id -u)" = 0 ]; then sudo=; else sudo=sudo; fi
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends "$@" > /dev/null
