"""Currency codes: those of ISO 4217, and private ones."""

from __future__ import annotations

import os
import re

from pydantic_core import PydanticCustomError

# The active codes of the list that was published on this day, with those of funds, precious metals
# and tests. Codes that were withdrawn, such as BGN and HRK, are not among them.
PUBLISHED = "2026-01-01"
_CODES = """
AED AFN ALL AMD AOA ARS AUD AWG AZN
BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD
CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK
DJF DKK DOP DZD
EGP ERN ETB EUR
FJD FKP
GBP GEL GHS GIP GMD GNF GTQ GYD
HKD HNL HTG HUF
IDR ILS INR IQD IRR ISK
JMD JOD JPY
KES KGS KHR KMF KPW KRW KWD KYD KZT
LAK LBP LKR LRD LSL LYD
MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN
NAD NGN NIO NOK NPR NZD
OMR
PAB PEN PGK PHP PKR PLN PYG
QAR
RON RSD RUB RWF
SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL
THB TJS TMT TND TOP TRY TTD TWD TZS
UAH UGX USD USN UYI UYU UYW UZS
VED VES VND VUV
WST
XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX
YER
ZAR ZMW ZWG
"""
ISO_4217 = frozenset(_CODES.split())

# The environment variable that names private codes. It belongs to the deployment, so that every
# process has the same codes: programs, commands, and the workers of a server.
VARIABLE = "KEYFOLD_PRIVATE_CURRENCIES"
_PRIVATE = re.compile(r"[A-Z0-9]{2,12}")


def check_currency(code: str) -> str:
    """Return a code of ISO 4217 or a private one; raises PydanticCustomError for others."""
    if code in ISO_4217 or code in _read_private(os.environ.get(VARIABLE, "")):
        return code
    raise _error(
        f"{code!r:.40} is not a currency of ISO 4217 ({PUBLISHED}). To allow a private code, name "
        f"it in the environment: {VARIABLE}=BTC,ETH"
    )


def _read_private(text: str) -> frozenset[str]:
    """Return the codes that the environment variable names; raises PydanticCustomError."""
    codes = frozenset(code.strip() for code in text.split(",") if code.strip())
    for code in sorted(codes):
        if _PRIVATE.fullmatch(code) is None:
            raise _error(
                f"{VARIABLE} has {code!r:.40}; a code has 2 to 12 capital letters and digits"
            )
    return codes


def _error(fact: str) -> PydanticCustomError:
    # Its message is the fact alone; pydantic would say "Value error" before that of a ValueError.
    return PydanticCustomError("currency", "{fact}", {"fact": fact})
