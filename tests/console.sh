# A crawl of a generated web of many hosts, with its console. Run by `make console`; Ctrl-C ends it.
set -eu
scrapy="$BIN/scrapy"
announcement=$(mktemp)

$scrapy site --port 0 --hosts 40 --levels 4 --pages 6 --links-across 3 --missing 0.03 --redirected 0.03 \
    --disallowed 0.05 > "$announcement" &
site=$!
trap 'kill $site 2> /dev/null; rm -f "$announcement"' EXIT
until grep -q http "$announcement"; do
    kill -0 $site || exit 1
    sleep 0.1
done
address=$(grep -o 'http://[0-9.:]*' "$announcement" | head -n 1)

rm -rf "$DEMO"
echo "A generated web of 40 hosts is at $address. Open the address of the console that follows."
# Its hosts are names of this server, which is asked as a proxy.
http_proxy=$address $scrapy crawl rdfa -a seeds=http://w0.site.test/ -a scope=all -s "JOBDIR=$DEMO" \
    -s POLITENESS_DELAY=1 -s POLITENESS_SERVER_DELAY=0 -s "CONSOLE_PORT=${PORT:-0}"
