"""Numbers for Prometheus."""

import re

from goalbound.serve.service.metrics import Metrics
from tests.support.incidents_at_work import changed, greedy
from tests.support.stores import open_store


def test_the_text_is_of_the_format_and_says_no_ids(tmp_path):
    metrics = Metrics()
    for seconds in (0.0005, 0.002, 7.0):
        metrics.count("/v1/learners/{learner}/cases", 201, seconds)
    with open_store(tmp_path / "store") as store:
        store.create("incidents", greedy()).begin([1.0, 0.0], "down", id="patient-17")
        store.create("changed", changed())
        count = len(changed().alarms)
        text = metrics.text(store.status())
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) .+|goalbound_\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [-+.e\d]+', line), line
    assert "patient" not in text
    assert "goalbound_events_total 3\n" in text
    assert 'goalbound_alarms{learner="incidents"} 0\n' in text
    assert f'goalbound_alarms{{learner="changed"}} {count}\n' in text
    assert 'goalbound_answers_total{route="/v1/learners/{learner}/cases",status="201"} 3' in text
    assert 'goalbound_answer_seconds_bucket{route="/v1/learners/{learner}/cases",le="0.001"} 1' in text
    assert 'goalbound_answer_seconds_bucket{route="/v1/learners/{learner}/cases",le="+Inf"} 3' in text
