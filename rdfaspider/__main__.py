"""`python -m rdfaspider …` is `scrapy …` with this project active, from any directory."""

import gc
import os
import sys


def main() -> None:
    os.environ.setdefault("SCRAPY_SETTINGS_MODULE", "rdfaspider.settings")
    gc.disable()  # imports make hardly any garbage
    try:
        from scrapy.cmdline import execute
    except ModuleNotFoundError as missing:
        raise SystemExit(
            f"rdfaspider: The commands need {missing.name}, which is not installed: pip install"
            " 'rdfaspider[crawl]'. Without it this is a library: from rdfaspider.extract import extract."
        ) from None
    gc.freeze()
    gc.enable()
    try:
        execute()
        sys.stdout.flush()
    except BrokenPipeError:  # as in `rdfaspider | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
