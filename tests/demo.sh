# A whole crawl on this machine: serve a generated web, crawl it, ask the store. Run by `make crawl`.
set -eu
. "$(dirname "$0")/serve.sh"
serve --levels 4 --pages 4 --triples 3

rm -rf "$DEMO"
echo "A generated web is at $address/; scrapy crawl rdfa crawls it."
# No pause between requests: it is our own server.
$scrapy crawl rdfa -a "seeds=$address/" -s "JOBDIR=$DEMO" -s POLITENESS_OFF_FOR_OWN_SERVERS=1
echo
echo "scrapy sparql: the types found"
$scrapy sparql -s "JOBDIR=$DEMO" 'SELECT ?type (COUNT(*) AS ?things) { ?thing a ?type } GROUP BY ?type ORDER BY DESC(?things)'
