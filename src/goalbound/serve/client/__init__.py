"""A client of the decision service: retries that cannot duplicate, typed errors, with and without asyncio."""

from goalbound.extras import missing_library

try:
    from goalbound.serve.client.asynchronous import AsyncCase, AsyncClient
    from goalbound.serve.client.calls import Proposal
    from goalbound.serve.client.synchronous import Case, Client
except ModuleNotFoundError as error:
    raise missing_library(error) from error

__all__ = ["AsyncCase", "AsyncClient", "Case", "Client", "Proposal"]
