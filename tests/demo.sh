# A whole crawl on this machine: serve a generated web, crawl it, ask the store. Run by `make crawl`.
set -eu
scrapy="$BIN/scrapy"
announcement=$(mktemp)

$scrapy site --port 0 --levels 4 --pages 4 --triples 3 > "$announcement" &
site=$!
trap 'kill $site 2> /dev/null; rm -f "$announcement"' EXIT
until grep -q http "$announcement"; do
    kill -0 $site || exit 1
    sleep 0.1
done
address=$(grep -o 'http://[0-9.:]*/' "$announcement" | head -n 1)

rm -rf "$DEMO"
echo "A generated web is at $address; scrapy crawl rdfa crawls it."
# No pause between requests: it is our own server.
$scrapy crawl rdfa -a "seeds=$address" -s "JOBDIR=$DEMO" -s POLITENESS_OFF_FOR_OWN_SERVERS=1
echo
echo "scrapy sparql: the types found"
$scrapy sparql -s "JOBDIR=$DEMO" 'SELECT ?type (COUNT(*) AS ?things) { ?thing a ?type } GROUP BY ?type ORDER BY DESC(?things)'
