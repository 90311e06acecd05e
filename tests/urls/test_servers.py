from __future__ import annotations

from ipaddress import ip_address

import pytest

from rdfaspider.urls.own import server_of


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("64:ff9b::192.0.2.1", "192.0.2.1"),
    ],
)
def test_a_network_of_ipv6_is_one_server(address: str, server: str) -> None:
    assert server_of(ip_address(address)) == server
