# The crawler, for compose.yaml or alone:
#   docker build -t rdfaspider . && docker run -v rdfaspider:/crawls rdfaspider crawl rdfa -a seeds=…
# It runs as a user without rights and writes to /crawls and /tmp only, so also with docker run --read-only
# --tmpfs /tmp. There is no HEALTHCHECK: a crawl serves nobody, and ends when it cannot go on.
# docs/dependencies.md says what is pinned, and how to renew it.
ARG PYTHON_IMAGE=python:3.13.9-slim-bookworm

# --- the packages of locks/, and the project as a wheel, in an environment without pip ---
FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
COPY locks/build.txt locks/crawl.txt locks/
RUN python -m venv --without-pip /opt/rdfaspider \
 && pip --python /opt/rdfaspider/bin/python install --require-hashes --only-binary :all: -r locks/crawl.txt \
 && pip install --require-hashes --only-binary :all: -r locks/build.txt
COPY pyproject.toml setup.py README.md LICENSE NOTICE ./
COPY rdfaspider rdfaspider
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
 && pip --python /opt/rdfaspider/bin/python install --no-deps --no-index /wheels/*.whl

# --- the image ---
FROM ${PYTHON_IMAGE}
# A number, so that a platform can see that it is not root.
RUN useradd --uid 10001 --no-create-home --home-dir /crawls crawler && install -d -o crawler -g crawler /crawls
COPY --from=build /opt/rdfaspider /opt/rdfaspider
ENV PATH=/opt/rdfaspider/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /crawls
ENTRYPOINT ["rdfaspider"]
