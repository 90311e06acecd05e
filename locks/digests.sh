#!/bin/sh
# Pins the images of Dockerfile and compose.yaml to what their tags mean now: NAME:TAG@sha256:…
#   make digests
# Needs docker with buildx, and a way to the images. A digest is that of the list of all architectures.
set -eu
images() {
    sed -nE 's/^(ARG [A-Z_]+_IMAGE=| +image: )([a-z0-9./_-]+:[A-Za-z0-9._-]+)(@sha256:[0-9a-f]{64})?$/\2/p' \
        Dockerfile compose.yaml | sort -u
}
for image in $(images); do
    digest=$(docker buildx imagetools inspect "$image" --format '{{.Manifest.Digest}}')
    echo "$digest" | grep -qE '^sha256:[0-9a-f]{64}$' || { echo "No digest of $image: $digest" >&2; exit 1; }
    sed -i -E "s#([= ]$image)(@sha256:[0-9a-f]{64})?\$#\1@$digest#" Dockerfile compose.yaml
    echo "$image@$digest"
done
