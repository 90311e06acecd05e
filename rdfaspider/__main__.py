"""`python -m rdfaspider …` is `scrapy …` with this project active, from any directory."""

import os


def main() -> None:
    os.environ.setdefault("SCRAPY_SETTINGS_MODULE", "rdfaspider.settings")
    from scrapy.cmdline import execute

    execute()


if __name__ == "__main__":
    main()
