"""`python -m rdfaspider …` is `scrapy …` with this project active, from any directory."""

import gc
import os
import sys
from typing import Any


def main() -> None:
    os.environ.setdefault("SCRAPY_SETTINGS_MODULE", "rdfaspider.settings")
    gc.disable()  # imports make hardly any garbage
    try:
        from scrapy import cmdline

        from rdfaspider.terminal import as_typed
    except ModuleNotFoundError as missing:
        raise SystemExit(
            f"rdfaspider: The commands need {missing.name}, which is not installed: pip install"
            " 'rdfaspider[crawl]'. Without it this is a library: from rdfaspider.extract import extract."
        ) from None
    gc.freeze()
    gc.enable()

    class Parser(cmdline.ScrapyArgumentParser):
        def _print_message(self, message: str, file: Any = None) -> None:
            super()._print_message(as_typed(message), file)

    # Scrapy's help and errors call the program scrapy, whatever was typed.
    vars(cmdline).update(ScrapyArgumentParser=Parser, print=lambda *s: print(*map(as_typed, s)))
    try:
        cmdline.execute()
        sys.stdout.flush()
    except BrokenPipeError:  # as in `rdfaspider | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
