"""What is shown of an audit."""

from __future__ import annotations

import raglift as rl
from raglift.auditing.view import audit_view
from raglift.rendering.document import Detail

DOCUMENTS = [rl.Document("d", "The lamp is lit at dusk and put out at dawn. The horn gives two blasts in the fog.")]
DATA = rl.Dataset.from_dict(
    {"when?": "The lamp is lit at dusk and put out at dawn.", "what?": "nowhere at all is this text"},
    documents=DOCUMENTS,
)


def test_findings_are_counted_by_kind_and_listed_folded():
    brief = audit_view(rl.audit(DATA, chunkers=["recursive:60/0"]))
    assert brief.lead == "labels: 1 broken, 0 warnings"
    assert [[cell.text for cell in row] for row in brief.headline.rows] == [
        ["nowhere", "broken", "1", "its text occurs nowhere in the documents"]
    ]
    findings, chunkers = brief.sections
    assert findings.detail is Detail.DETAILS
    assert findings.heading == "Broken: nowhere (1)"
    assert findings.entries[0].text == '"q2" relevant[0]: "nowhere at all is this text": in no document'
    assert chunkers.tables[0].columns[1] == "recursive:60/0"
    assert "recursive:60/0" in rl.audit(DATA, chunkers=["recursive:60/0"])._repr_html_()


def test_where_nothing_is_wrong_there_is_no_table_of_findings():
    clean = rl.Dataset.from_dict({"when?": "The lamp is lit at dusk and put out at dawn."}, documents=DOCUMENTS)
    brief = audit_view(rl.audit(clean))
    assert not brief.headline.rows
    assert not brief.sections
