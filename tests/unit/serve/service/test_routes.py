"""The table of routes."""

import re

from goalbound.serve.service.routes import ROUTES
from goalbound.serve.service.tokens import SCOPES


def test_each_route_stands_once_and_has_a_scope_that_exists():
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)
    assert {route.scope for route in ROUTES} - {None} == set(SCOPES)


def test_whatever_writes_needs_a_scope_that_allows_to():
    for route in ROUTES:
        if route.method == "POST" and not route.path.endswith("policy-bounds"):
            assert route.scope in ("cases:write", "admin"), route.path
        assert re.fullmatch(r"/|(/[a-z0-9:.{}-]+)+", route.path)
