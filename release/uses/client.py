"""What the extra ``client`` is for; without a service it says in one typed error that none answers."""

from goalbound.errors import GoalboundError
from goalbound.serve.client import Client

with Client("http://127.0.0.1:9", timeout=0.5, patience=0.0) as client:
    try:
        client.learner("none").begin([1.0], "down")
    except GoalboundError as error:
        print(error)
    else:
        raise AssertionError("port 9 answered")
