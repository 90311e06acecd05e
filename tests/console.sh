# A crawl of a generated web of many hosts, with its console. Run by `make console`; Ctrl-C ends it.
set -eu
. "$(dirname "$0")/serve.sh"
serve --hosts 40 --levels 4 --pages 6 --links-across 3 --missing 0.03 --redirected 0.03 --disallowed 0.05

rm -rf "$DEMO"
echo "A generated web of 40 hosts is at $address. Open the address of the console that follows."
# Its hosts are names of this server, which is asked as a proxy.
http_proxy=$address $scrapy crawl rdfa -a seeds=http://w0.site.test/ -a scope=all -s "JOBDIR=$DEMO" \
    -s POLITENESS_DELAY=1 -s POLITENESS_SERVER_DELAY=0 -s SEARCH=1 -s ARCHIVE=1 -s "CONSOLE_PORT=${PORT:-0}"
