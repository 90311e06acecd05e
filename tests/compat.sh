#!/bin/sh
# Runs tests with other versions of Scrapy, each in an environment of its own in .cache/compat:
#   sh tests/compat.sh all             the newest release of each minor version, all tests of crawls, add-on and scrapyd
#   sh tests/compat.sh few             the oldest and the newest, a few of these tests
# All else is that of the environment of $PYTHON, but for Twisted: older versions of Scrapy want an older one.
set -eu
python=${PYTHON:-python3}
place=$PWD/.cache/compat
crawls="tests/test_scraper.py tests/test_compat.py tests/test_crawl.py tests/parts tests/test_scrapyd.py"
few="tests/test_compat.py tests/test_scraper.py
  tests/test_crawl.py::test_a_rough_site_gives_what_the_oracle_says
  tests/parts/test_addon.py::test_the_example_has_items_and_triples
  tests/parts/test_addon.py::test_robots_and_delays_are_kept
  tests/parts/test_frontier.py::test_requests_keep_all_that_they_have
  tests/test_scrapyd.py::test_a_job_reads_every_page"
# Of the add-on, extraction and robots.
oldest="tests/parts/test_addon.py::test_triples_alone
  tests/parts/test_addon.py::test_parts_that_were_not_asked_for"
export PYTHONDONTWRITEBYTECODE=1
status=0

# What is wanted of Scrapy, and the tests.
try() {
  wanted=$1
  environment=$place/$(echo "$wanted" | tr -dc '0-9.' | sed 's,[.]$,,')
  shift
  if [ ! -x "$environment/bin/python" ]; then
    mkdir -p "$place"
    "$python" -m venv --without-pip "$environment"
    "$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
      > "$(echo "$environment"/lib/python3*/site-packages)/others.pth"
  fi
  "$python" -m pip --python "$environment/bin/python" install --quiet --disable-pip-version-check \
    --only-binary :all: --upgrade --constraint requirements.txt "$wanted"
  echo "Scrapy $("$environment/bin/python" -c 'import scrapy; print(scrapy.__version__)'):"
  "$environment/bin/python" -m pytest --quiet --numprocesses=auto --durations=1 \
    -p no:cacheprovider -m "not campaign" "$@" || status=1
}

case ${1:-all} in
  few)
    try 'scrapy==2.13.*' $oldest
    try 'scrapy==2.14.*' $few
    try 'scrapy>=2.19' $few ;;
  all)
    try 'scrapy==2.13.*' $oldest
    for minor in 14 15 16 17 18; do try "scrapy==2.$minor.*" $crawls; done
    try 'scrapy>=2.19' $crawls ;;
esac
exit $status
