# The crawler, for compose.yaml or alone:
#   docker build -t rdfaspider . && docker run -v rdfaspider:/crawls rdfaspider crawl rdfa -a seeds=…
FROM python:3.13-slim
COPY pyproject.toml requirements.txt README.md /src/
COPY rdfaspider /src/rdfaspider
RUN pip install --no-cache-dir /src && useradd --create-home crawler && install -d -o crawler /crawls
USER crawler
WORKDIR /crawls
ENTRYPOINT ["rdfaspider"]
