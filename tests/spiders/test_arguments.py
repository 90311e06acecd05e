"""Arguments of spiders: those that exist, those of subclasses, and those that are misspelt."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.exceptions import UsageError

from rdfaspider.spiders.arguments import check_arguments, read_depth
from rdfaspider.spiders.rdfa import RdfaSpider


class ShopSpider(RdfaSpider):
    name = "shop"
    colour = "red"

    def __init__(self, shop: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.shop = shop


def test_the_arguments_of_the_class_its_bases_and_its_attributes_are_known() -> None:
    check_arguments(RdfaSpider, ["seeds", "depth", "scope", "_job"])
    check_arguments(ShopSpider, ["seeds", "depth", "scope", "shop", "colour"])


@pytest.mark.parametrize(
    ("spider", "name", "sentence"),
    [
        (RdfaSpider, "dept", "dept is not an argument of the spider rdfa: did you mean depth?"),
        (RdfaSpider, "seed", "seed is not an argument of the spider rdfa: did you mean seeds?"),
        (ShopSpider, "shopp", "shopp is not an argument of the spider shop: did you mean shop?"),
        (
            RdfaSpider,
            "xyz",
            "xyz is not an argument of the spider rdfa: it has seeds, depth, scope",
        ),
    ],
)
def test_another_is_told_the_nearest_one(
    spider: type[RdfaSpider], name: str, sentence: str
) -> None:
    with pytest.raises(UsageError) as error:
        check_arguments(spider, ["seeds", name])
    assert str(error.value).startswith(sentence)


def test_depth() -> None:
    assert read_depth(None) is None
    assert read_depth("250") == 250
    for argument in ("251", "-1", "x", "", "1.5"):
        with pytest.raises(UsageError, match=f"depth={argument} "):
            read_depth(argument)
