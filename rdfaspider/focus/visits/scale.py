"""Positive numbers in a byte or two, as the records of kept pages have them."""

from __future__ import annotations

from math import exp, log


class Scale:
    """Positive numbers as a byte each, on a logarithmic scale; 0 is 0.

    A number between two codes becomes one of them by chance, so that the mean of many is right, and small
    additions to a large number are not lost. The chance is a number from 0 to 1 that the caller makes.
    """

    def __init__(self, least: float, most: float) -> None:
        self._least = log(least)
        self._step = (log(most) - self._least) / 254
        self.numbers = [0.0] + [exp(self._least + self._step * code) for code in range(255)]

    def encode(self, number: float, chance: float = 0.5) -> int:
        if number <= 0.0:
            return 0
        place = (log(number) - self._least) / self._step
        if place <= 0.0:
            return 1
        code = int(place) + 1
        if code >= 255:
            return 255
        low, high = self.numbers[code], self.numbers[code + 1]
        return code + (number - low > chance * (high - low))


CHANGES = Scale(0.01, 10_000.0)
SECONDS = Scale(1.0, 3e9)
WEIGHT = Scale(1.0, 1e7)

# An interval has a mantissa of this many bits and an exponent in the rest of its 16 bits.
_MANTISSA = 11
# The bits of the mantissa that a computed interval uses: the others compress to nothing.
_COARSE = 6


def encode_interval(seconds: float, bits: int = _MANTISSA) -> int:
    """Return the code of an interval, rounded up to so many bits; up to 4,096 seconds are exact."""
    whole = -int(-seconds // 1)
    exponent = max(whole.bit_length() - _MANTISSA, 0)
    mantissa = -(-whole >> exponent)
    drop = max(mantissa.bit_length() - bits, 0)
    mantissa = -(-mantissa >> drop) << drop
    if mantissa >> _MANTISSA:
        mantissa, exponent = mantissa >> 1, exponent + 1
    return min(exponent << _MANTISSA | mantissa, 0xFFFF)


def encode_coarsely(seconds: float) -> int:
    """Return the code of an interval that nobody has asked for: it is up to 3 % longer."""
    return encode_interval(seconds, _COARSE)


def decode_interval(code: int) -> int:
    """Return the whole seconds of a code."""
    return (code & (1 << _MANTISSA) - 1) << (code >> _MANTISSA)
