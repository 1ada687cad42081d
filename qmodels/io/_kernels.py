"""Compiled reading of numbers: bytes in, plain arrays out.

A kernel checks nothing but what it is asked to read, raises nothing and knows no class of this
package; its wrapper lives in `_swf_parse`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Powers of ten that are floats without rounding.
EXACT = np.array([10.0**k for k in range(23)])
LARGEST = 2.0**53


@njit(cache=True, nogil=True)
def read_rows(text, whole, rows):
    """Fill ``rows`` (most, fields) from lines of decimal numbers; return how many, or -1.

    text: (n,) bytes, each line with its newline. whole: (fields,) which are to be whole numbers.
    Numbers are parted by blanks or tabs; empty lines are passed over. Where anything else is met,
    or a number whose rounding needs more care, the answer is -1 and ``rows`` holds nothing of use.
    A number of at most 2^53 times or over a power of ten up to 22 is one multiplication or
    division of floats without error, so rounded right (W. D. Clinger, PLDI 1990, 92-101).
    """
    fields = whole.size
    count = 0
    field = 0
    at = 0
    end = text.size
    while at < end:
        c = text[at]
        if c == 32 or c == 9:  # blank, tab
            at += 1
            continue
        if c == 13 and at + 1 < end and text[at + 1] == 10:
            at += 1
            continue
        if c == 10:
            if field == fields:
                count += 1
            elif field != 0:
                return -1
            field = 0
            at += 1
            continue
        if field == fields or count == rows.shape[0]:
            return -1
        negative = c == 45
        if c == 45 or c == 43:
            at += 1
        digits = 0
        significand = 0
        scale = 0
        while at < end and 48 <= text[at] <= 57:
            significand = 10 * significand + (text[at] - 48)
            digits += 1
            at += 1
            if digits > 15:
                return -1
        if at < end and text[at] == 46:
            at += 1
            while at < end and 48 <= text[at] <= 57:
                significand = 10 * significand + (text[at] - 48)
                digits += 1
                scale -= 1
                at += 1
                if digits > 15:
                    return -1
        if digits == 0:
            return -1
        if at < end and (text[at] == 101 or text[at] == 69):  # e, E
            at += 1
            sign = 1
            if at < end and (text[at] == 45 or text[at] == 43):
                sign = -1 if text[at] == 45 else 1
                at += 1
            power = 0
            length = 0
            while at < end and 48 <= text[at] <= 57:
                power = 10 * power + (text[at] - 48)
                length += 1
                at += 1
                if length > 3:
                    return -1
            if length == 0:
                return -1
            scale += sign * power
        if at == end or not (text[at] == 32 or text[at] == 9 or text[at] == 10 or text[at] == 13):
            return -1
        if scale < -22 or scale > 22:
            return -1
        value = np.float64(significand)
        if scale < 0:
            value /= EXACT[-scale]
        elif scale > 0:
            value *= EXACT[scale]
        if not value < LARGEST or (whole[field] and value != np.floor(value)):
            return -1
        rows[count, field] = -value if negative else value
        field += 1
    return count if field == 0 else -1
