# The full report of a crawl on this machine: serve a generated web of many hosts, crawl it, analyse its pages, report.
# Run by `make report`.
set -eu
scrapy="$BIN/scrapy"
announcement=$(mktemp)

$scrapy site --port 0 --hosts 20 --levels 3 --pages 4 --links-across 2 --skew 0.8 --rdfa 0.5 --duplicated 0.05 \
    --missing 0.03 --redirected 0.03 --disallowed 0.05 --proxy > "$announcement" &
site=$!
trap 'kill $site 2> /dev/null; rm -f "$announcement"' EXIT
until grep -q seeds= "$announcement"; do
    kill -0 $site || exit 1
    sleep 0.1
done
proxy=$(grep -o 'http_proxy=[^ ]*' "$announcement" | cut -d = -f 2)
seeds=$(grep -o 'seeds=[^ ]*' "$announcement")

rm -rf "$DEMO"
echo "A generated web of 20 hosts is at $proxy; scrapy crawl rdfa crawls it."
http_proxy=$proxy $scrapy crawl rdfa -a "$seeds" -a scope=all -s "JOBDIR=$DEMO" -s ARCHIVE=1 \
    -s POLITENESS_DELAY=0 -s POLITENESS_AT_ONCE=4
$scrapy pages --analyse -s "JOBDIR=$DEMO"
$scrapy report --full -s "JOBDIR=$DEMO" -o "$DEMO/report"
