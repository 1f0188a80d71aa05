"""Who may use a studio: the browser that was opened with its token, and no page of another origin."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from keyfold.service._http import ServiceRequest, check_browser
from keyfold.studio._problems import StudioProblem
from keyfold.wire.server._browsers import BrowserRules

TOKEN = "token"  # noqa: S105 - the name of a parameter
_TOKEN_BYTES = 24


def make_token() -> str:
    """Return a new token."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


class StudioAccess:
    """Checks requests: their Host and Origin, and the cookie that the token was traded for.

    Ports share cookies, and pages of other local ports are of the same site. So the Origin of a
    request has to be that of the studio itself.
    """

    def __init__(self, token: str, rules: BrowserRules) -> None:
        self.token = token
        self._rules = rules
        # The cookie is not the token, so that neither tells the other.
        digest = hmac.digest(token.encode(), b"keyfold studio session", "sha256")
        self._session = base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def check_origin(self, request: ServiceRequest) -> None:
        """Raise a problem for a request of another page, or for a name that is not the studio's."""
        check_browser(request, self._rules)
        headers = request.headers
        origin = headers.get("origin")
        own = f"{request.scope.get('scheme', 'http')}://{headers.get('host', '')}"
        if origin is not None and origin != own:
            message = f"Pages of {origin} may not use the studio."
            raise StudioProblem(403, "origin-refused", message)

    def check_data(self, request: ServiceRequest) -> None:
        """Raise a problem unless a request for data comes from the studio's own page, with its cookie."""
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise StudioProblem(403, "origin-refused", "Only the studio's own page gets data.")
        if not self.has_session(request):
            message = "Open the URL that keyfold studio printed: it has the token."
            raise StudioProblem(401, "studio-token-missing", message)

    def has_session(self, request: ServiceRequest) -> bool:
        """Return whether a request has the cookie of this studio."""
        try:
            found = SimpleCookie(request.headers.get("cookie", "")).get(self._name(request))
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(
            found.value.encode("utf-8", "replace"), self._session.encode()
        )

    def trade_token(self, request: ServiceRequest) -> tuple[str, str] | None:
        """Return where to go and the cookie to set, for a URL with the token; None without one.

        Raises a problem if the token is another one.
        """
        query = parse_qsl(request.sent_query, keep_blank_values=True)
        given = next((value for name, value in query if name == TOKEN), None)
        if given is None:
            return None
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            message = "The token is not that of this studio. Open the URL that it printed."
            raise StudioProblem(401, "studio-token-wrong", message)
        rest = urlencode([each for each in query if each[0] != TOKEN])
        # One slash: a second one would name another host.
        path = "/" + request.sent_path.lstrip("/")
        secure = "; Secure" if request.scope.get("scheme") == "https" else ""
        cookie = f"{self._name(request)}={self._session}; Path=/; HttpOnly; SameSite=Strict{secure}"
        return f"{path}?{rest}" if rest else path, cookie

    @staticmethod
    def _name(request: ServiceRequest) -> str:
        """Return the name of the cookie: studios on other ports have others."""
        server = request.scope.get("server") or ("", 0)
        return f"keyfold-studio-{server[1]}"


def hash_script(text: str) -> str:
    """Return the source expression of a content security policy for an inline script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
