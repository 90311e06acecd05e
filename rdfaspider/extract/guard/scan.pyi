def count(body: bytes) -> tuple[int, int, int, int, int]:
    """Return the fields of `risks.Risks`."""

def has_prefixes(body: bytes) -> bool:
    """Tell what `risks.has_prefixes` tells."""
