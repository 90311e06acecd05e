# Read by the scripts of `make crawl` and `make console`: serves a generated web until the script ends.
scrapy="$BIN/scrapy"

# Serve a web with these options; `address` is its URL, without a slash at the end.
serve() {
    announcement=$(mktemp)
    $scrapy site --port 0 "$@" > "$announcement" &
    site=$!
    trap 'kill $site 2> /dev/null; rm -f "$announcement"' EXIT
    until grep -q http "$announcement"; do
        kill -0 $site || exit 1
        sleep 0.1
    done
    address=$(grep -o 'http://[0-9.:]*' "$announcement" | head -n 1)
}
