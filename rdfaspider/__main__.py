"""`python -m rdfaspider …` is `scrapy …` with this project active, from any directory."""

import os


def main() -> None:
    os.environ.setdefault("SCRAPY_SETTINGS_MODULE", "rdfaspider.settings")
    try:
        from scrapy.cmdline import execute
    except ModuleNotFoundError as missing:
        raise SystemExit(
            f"rdfaspider: The commands need {missing.name}, which is not installed: pip install"
            " 'rdfaspider[crawl]'. Without it this is a library: from rdfaspider.extract import extract."
        ) from None
    execute()


if __name__ == "__main__":
    main()
