"""The description of the API."""

import json

from goalbound.serve.service.openapi import openapi, operation_id
from goalbound.serve.service.routes import ROUTES


def test_every_route_is_described_and_every_reference_leads_somewhere():
    found = openapi(ROUTES)
    described = {(method.upper(), path) for path, methods in found["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in ROUTES}
    text = json.dumps(found)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in found["components"]["schemas"]
    assert len({operation_id(route) for route in ROUTES}) == len(ROUTES)
    links = found["paths"]["/v1/learners/{learner}/cases"]["post"]["responses"]["201"]["links"]
    assert links["next step"]["operationId"] in {operation_id(route) for route in ROUTES}


def test_numbers_of_pages_say_how_small_they_may_be():
    found = openapi(ROUTES)["paths"]
    for path in ("/v1/learners/{learner}/cases", "/v1/events"):
        schemas = {given["name"]: given["schema"] for given in found[path]["get"]["parameters"]}
        assert schemas["after"] == {"type": "integer", "minimum": 0}
        assert schemas["limit"] == {"type": "integer", "minimum": 1}
