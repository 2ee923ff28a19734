"""Edits that people make to documents, and what became of a label, as a careful person would call it."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

import pytest

import raglift as rl
from raglift.text.reformatting import fold_format
from raglift.types.dataset import Dataset
from raglift.types.documents import Document
from raglift.types.labels import Fact, Passage, Query
from raglift.updating import CERTAIN, update_labels

Texts = dict[str, str]
Edit = Callable[[Texts], Texts]

DE, CH, PLUS, TERMS = (
    "policies-returns-de.md",
    "policies-returns-ch.md",
    "plus-terms-2025.md",
    "policies-terms-of-sale.md",
)
CODES, SCOOTER = "norrvik-washer-error-codes.md", "fjelltek-scooter-s2-manual.md"
# Labels of shop_support, as `question`, `where`
EARBUDS = ("earbuds-opened-hamburg", "relevant[0][0]")  # an item of a list: - **Earbuds** cannot be returned …
THIRTY = ("return-days-zurich", "judged_irrelevant[1]")  # a sentence: … within **30 days** of the day you received it.
PAYLATER = ("sent-back-still-dunning", "relevant[0][1]")  # a sentence in the middle of a paragraph
CLAUSE = ("late-parcel-fourteen-days", "relevant[0]")  # 5.2. The times are expected times. …
ITEM = ("return-utrecht-day-20", "relevant[0][2]")  # 5. A return period of **60 days** …
PAUSE = ("freeze-membership", "relevant[0]")  # a paragraph of two sentences
EXPIRES = ("freeze-membership", "relevant[1]")  # a paragraph that is all of its section
ROW = ("washer-e05", "relevant[0][0]")  # | E05 | Water not pumped out within 4 minutes | …
ROWS = ("scooter-cold-range", "relevant[0]")  # two rows: range and weight
EDITION = ("promised-sixty-days", "relevant[0][2]")  # from the middle of a sentence to the middle of it

PAUSED = (
    "A membership paid by the month can be paused for one to **three months** in a calendar year. During the pause "
    "there are no benefits and no payments; credit is kept."
)
GERMAN = (
    "Eine monatlich bezahlte Mitgliedschaft kann im Kalenderjahr ein bis **drei Monate** ruhen. In dieser Zeit gibt es "
    "weder Vorteile noch Zahlungen; Guthaben bleibt."
)
BUDS = "- **Earbuds** cannot be returned in Germany once the hygiene seal is broken, unless they are faulty.\n"
CREDIT = "Credit expires **24 months** after it was posted. When the membership ends it stays valid for 90 days.\n\n"
SECTION = f"## 6. Store credit\n\n{CREDIT}"


def sub(document: str, old: str, new: str) -> Edit:
    """Replace one text in one document."""

    def edit(texts: Texts) -> Texts:
        assert texts[document].count(old) == 1, old
        return texts | {document: texts[document].replace(old, new)}

    return edit


def each(change: Callable[[str], str], *documents: str) -> Edit:
    """Change the text of some documents, or of all."""
    return lambda texts: {key: change(text) if key in (documents or texts) else text for key, text in texts.items()}


def named(old: str, new: str) -> Edit:
    return lambda texts: {new if key == old else key: text for key, text in texts.items()}


def add(document: str, text: str) -> Edit:
    """Write text at the end of a document, which may be new."""
    return lambda texts: texts | {document: texts.get(document, "") + text}


def drop(document: str) -> Edit:
    return lambda texts: {key: text for key, text in texts.items() if key != document}


def copied(document: str, new: str) -> Edit:
    return lambda texts: texts | {new: texts[document]}


def both(*edits: Edit) -> Edit:
    def edit(texts: Texts) -> Texts:
        for one in edits:
            texts = one(texts)
        return texts

    return edit


def to_file(old: str, start: str, new: str) -> Edit:
    """Cut a document where a text begins: the rest goes to the end of another."""

    def edit(texts: Texts) -> Texts:
        first, second = texts[old].split(start, 1)
        return texts | {old: first, new: texts.get(new, "") + "\n\n" + start + second}

    return edit


def wrap(text: str, width: int = 72) -> str:
    """Wrap each line that is no heading and no row of a table, as Markdown formatters do."""

    def lines(line: str) -> str:
        if line.startswith(("#", "|")) or len(line) <= width:
            return line
        mark = re.match(r"(?:> ?)?(?:[-*] |\d+\. )?", line)[0]
        indent = re.sub(r"[^>]", " ", mark)
        return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)

    return "\n".join(map(lines, text.split("\n")))


def curly(text: str) -> str:
    return re.sub(r'"([^"\n]*)"', r"“\1”", text).replace("'", "’")


class Case(NamedTuple):
    name: str
    label: tuple[str, str] | Dataset
    """A label of shop_support; else a dataset, whose first label it is."""
    kind: str
    edit: Edit
    doc: str | None = None
    """The document it must be in; None for the same."""


def made(documents: Texts, *passages: str | Passage) -> Dataset:
    """Return a dataset of one question, with a fact for each passage; those of grade 0 are judged irrelevant."""
    labels = [each if isinstance(each, Passage) else Passage(each) for each in passages]
    facts = tuple(Fact((each,)) for each in labels if each.grade)
    records = tuple(Document(key, text) for key, text in documents.items())
    irrelevant = tuple(each for each in labels if not each.grade)
    return Dataset((Query("q", "What is so?", facts, judged_irrelevant=irrelevant),), records)


def one(documents: Texts, document: str, text: str, **options: int) -> Dataset:
    """Return a dataset whose one label is a span of a document."""
    start = documents[document].index(text)
    return made(documents, Passage(text, document, start, start + len(text), **options))


LAMP = "The lamp of the tower on Skarholm is lit half an hour before sunset, in summer and in winter."
HORN = "The fog horn on the northern pier sounds every forty seconds as long as the fog bank is nearer than a mile."
FOOT = "Questions about this page are answered by the harbour office on weekdays from nine to four."
TOWERS = {
    "lamp.md": f"# The lamp\n\n{LAMP}\n\nOil is carried up every Monday by the two younger keepers.\n\n{FOOT}\n",
    "horn.md": f"# The horn\n\n{HORN}\n\nIts compressor is serviced by the yard at Velle each spring.\n\n{FOOT}\n",
    "boat.md": f"# The boat\n\nThe boat lies in the cove, and is tarred in May.\n\n{FOOT}\n",
}
KEPT = "\n\nIn an emergency the keeper on duty telephones the station at Velle, then the harbour.\n"
TWINS = TOWERS | {name: TOWERS[name] + KEPT for name in ("lamp.md", "horn.md")}
PAGES = {
    "book.pdf": f"The first page is a title.\f{LAMP}\nIt is tended by two keepers.\f{HORN}\nIts range is four miles.\f"
}
CODE = {"run.md": "Start the pump like this:\n\n```sh\npump --start --pressure 4 --wait\n```\n\nIt takes a minute.\n"}
DATES = {"zeiten.md": "# Öffnungszeiten\n\nDie Frist für alle im Winter gekauften Geräte endet\n30. Juni des Jahres.\n"}
HEADED = {
    "returns.md": "# Returns\n\n## 30 days to send things back\n\nThe day on which the parcel arrives is the first.\n"
}
HOLIDAYS = {"tage.md": "# Feiertage\n\n1. Mai: Das Lager in Venlo und beide Werkstätten bleiben geschlossen.\n"}
CHINESE = "退货期限为三十天，自收到商品之日起计算。耳机的卫生封条一旦破损，除非有质量问题，否则不能退货。"
JAPANESE = (
    "返品の期限は、商品を受け取った日から三十日です。衛生シールを破ったイヤホンは、故障の場合を除いて返品できません。"
)
ARABIC = "يمكنكم إرجاع أي منتج خلال ثلاثين يوما من يوم استلامه، ولا يلزم ذكر السبب عند تعبئة نموذج الإرجاع."
FOREIGN = {"zh.md": f"# 退货\n\n{CHINESE}\n", "ja.md": f"# 返品\n\n{JAPANESE}\n", "ar.md": f"# الإرجاع\n\n{ARABIC}\n"}
QUOTED = {
    "press.md": 'On the display press the word "Return to the dealer" and then the word "Confirm" within a minute.\n'
}
ACCENTS = {"cafe.md": "Le café de la Brimla Duo coule à 92 °C ; il est prêt dès que la flèche s'éteint à côté.\n"}
SHORT = {"a.md": "Closed.\n\nThe yard is in Velle.\n", "b.md": "Open.\n"}
OFFICE = {"a.md": "Closed on Monday.\n\n" * 3, "b.md": "Closed on Monday.\n"}

# fmt: off
SEAL = {"a.md": "Earbuds cannot be returned in Germany once the hygiene seal has been broken, unless faulty.\n"}
COVER = {
    "a.md": "## Covered\n\n- Damage to the battery that is caused by water or by frost in winter.\n- Theft.\n\n"
    "## Not covered\n\n- Wear of the tyres.\n"
}
FAQ = {"faq.md": f"# Questions\n\nIs smoking allowed in the yard?\n\nYes.\n\n{LAMP}\n"}
FOG = one(TOWERS, "horn.md", HORN)
FOOTER = one(TOWERS, "lamp.md", FOOT)
UNWANTED = one(TOWERS, "horn.md", HORN, grade=0)
WHOLE = one(TOWERS, "horn.md", TOWERS["horn.md"])
CRLF = {name: text.replace("\n", "\r\n") for name, text in TOWERS.items()}
PAGE = one(PAGES, "book.pdf", PAGES["book.pdf"][27:148])
BUTTON = one(QUOTED, "press.md", QUOTED["press.md"][7:])

CASES = (
    # Documents and sections that move
    Case("untouched", EARBUDS, "unchanged", lambda texts: texts),
    Case("paragraph inserted above", PAUSE, "unchanged",
         sub(PLUS, "## 4. Pausing\n\n", "## 4. Pausing\n\nNot every membership can be paused, as follows.\n\n")),
    Case("text appended below", PAUSE, "unchanged", add(PLUS, "\n## 10. The end\n\nThat is all.\n")),
    Case("paragraph inserted below", PAUSE, "unchanged",
         sub(PLUS, "## 5. Ending it", "It can be paused again in the next year.\n\n## 5. Ending it")),
    Case("renamed file", EARBUDS, "moved", named(DE, "returns-germany.md"), "returns-germany.md"),
    Case("moved to a subfolder", THIRTY, "moved", named(DE, "policies/returns-de.md"), "policies/returns-de.md"),
    Case("whole folder moved", ROW, "moved", lambda texts: {f"docs/{key}": text for key, text in texts.items()},
         f"docs/{CODES}"),
    Case("file split in two", PAUSE, "moved", to_file(PLUS, "## 4. Pausing", "plus-pausing.md"), "plus-pausing.md"),
    Case("file merged into another", PAUSE, "moved", both(to_file(PLUS, "# Voltbeck Plus", "plus-faq.md"), drop(PLUS)),
         "plus-faq.md"),
    Case("section moved within the file", EXPIRES, "moved",
         both(sub(PLUS, SECTION, ""), sub(PLUS, "## 1. The", SECTION + "## 1. The"))),
    Case("section moved to another file", EXPIRES, "moved",
         both(sub(PLUS, SECTION, ""), add("payment-store-credit.md", "\n" + SECTION)), "payment-store-credit.md"),
    Case("paragraph moved alone", EXPIRES, "moved",
         both(sub(PLUS, CREDIT, ""), sub(PLUS, "## 9. Changes\n\n", "## 9. Changes\n\n" + CREDIT))),
    # Format
    Case("rewrapped at 72 columns", PAUSE, "unchanged", each(wrap, PLUS)),
    Case("whole corpus rewrapped", CLAUSE, "unchanged", each(wrap)),
    Case("CRLF", ROWS, "unchanged", each(lambda text: text.replace("\n", "\r\n"))),
    Case("list renumbered", ITEM, "unchanged",
         both(sub(PLUS, "5. A return", "6. A return"), sub(PLUS, "4. **3 %**", "4. A card.\n5. **3 %**"))),
    Case("clause renumbered", CLAUSE, "unchanged",
         both(sub(TERMS, "5.2. The", "5.3. The"), sub(TERMS, "5.1. We", "5.1. Read on.\n\n5.2. We"))),
    Case("heading numbered", THIRTY, "unchanged", sub(DE, "## How long you have", "## 1. How long you have")),
    Case("straight to curly quotes", CLAUSE, "unchanged", each(curly)),
    Case("curly quotes in the label", made(QUOTED, QUOTED["press.md"].strip()), "unchanged", each(curly)),
    Case("German quotes", BUTTON, "unchanged", each(lambda text: re.sub('"([^"]*)"', "„\\1“", text))),
    Case("French quotes", BUTTON, "unchanged", each(lambda text: re.sub('"([^"]*)"', "«\\1»", text))),
    Case("French quotes with spaces", BUTTON, "edited", each(lambda text: re.sub('"([^"]*)"', "«\u202f\\1 »", text))),
    Case("language of a fence", one(CODE, "run.md", CODE["run.md"][27:66]), "unchanged",
         sub("run.md", "```sh", "```bash")),
    Case("NFD", one(ACCENTS, "cafe.md", ACCENTS["cafe.md"][:-1]), "unchanged",
         each(lambda text: unicodedata.normalize("NFD", text))),
    Case("non-breaking spaces", made(ACCENTS, ACCENTS["cafe.md"][:-1]), "unchanged",
         each(lambda text: text.replace(" ;", "\u202f;").replace(" °C", "\u00a0°C"))),
    Case("Chinese rewrapped", one(FOREIGN, "zh.md", CHINESE), "unchanged",
         each(lambda text: re.sub("(.{20})", "\\1\n", text))),
    Case("Japanese rewrapped", one(FOREIGN, "ja.md", JAPANESE), "unchanged",
         each(lambda text: re.sub("(.{20})", "\\1\n", text))),
    Case("Arabic rewrapped", one(FOREIGN, "ar.md", ARABIC), "unchanged", each(lambda text: wrap(text, 30), "ar.md")),
    Case("Chinese character changed", one(FOREIGN, "zh.md", CHINESE), "edited", sub("zh.md", "三十天", "十四天")),
    # Words: nothing of this is certain
    Case("number changed", THIRTY, "edited", sub(DE, "**30 days** of the day", "**14 days** of the day")),
    Case("negation inserted", PAUSE, "edited", sub(PLUS, "can be paused", "cannot be paused")),
    Case("negation removed", EARBUDS, "edited", sub(DE, "cannot be returned in Germany", "can be returned in Germany")),
    Case("date changed", ("paid-year-in-january", "relevant[0]"), "edited",
         sub(PLUS, "before 1 April 2025 go", "before 1 May 2026 go")),
    Case("product name changed", EARBUDS, "edited", sub(DE, "**Earbuds**", "**Speakers**")),
    Case("unit changed", EXPIRES, "edited", sub(PLUS, "**24 months** after", "**24 weeks** after")),
    Case("currency changed", ("locked-out-smart-lock", "relevant[0]"), "edited",
         sub(TERMS, "up to €150, once", "up to CHF 150, once")),
    Case("one word replaced", PAUSE, "edited",
         sub(PLUS, "no benefits and no payments", "no benefits and half payments")),
    Case("typo corrected", PAUSE, "edited", sub(PLUS, "During the pause", "During teh pause")),
    Case("case changed", PAUSE, "edited", sub(PLUS, "During the pause", "DURING THE PAUSE")),
    Case("bold removed", PAUSE, "edited", sub(PLUS, "**three months**", "three months")),
    Case("emphasis marks changed", PAUSE, "edited", sub(PLUS, "**three months**", "__three months__")),
    Case("link added", PAUSE, "edited", sub(PLUS, "calendar year", "[calendar year](year.md)")),
    Case("sentence added at the end", PAUSE, "edited",
         sub(PLUS, "credit is kept.", "credit is kept. The trial cannot be paused.")),
    Case("line added at the end", PAUSE, "edited",
         sub(PLUS, "credit is kept.", "credit is kept.\nThe trial cannot be paused.")),
    Case("sentence added in the middle", PAUSE, "edited",
         sub(PLUS, "calendar year. During", "calendar year. Ask the chat. During")),
    Case("sentence deleted", PAUSE, "edited",
         sub(PLUS, " During the pause there are no benefits and no payments; credit is kept.", "")),
    Case("passage split into two paragraphs", PAUSE, "unchanged", sub(PLUS, "year. During", "year.\n\nDuring")),
    Case("two paragraphs merged", PAUSE, "edited",
         sub(PLUS, "credit is kept.\n\n## 5. Ending it\n\n", "credit is kept. ")),
    Case("comment inserted", PAUSE, "edited",
         sub(PLUS, "calendar year. During", "calendar year. <!-- check --> During")),
    Case("commented out", FOG, "edited", sub("horn.md", HORN, f"<!--\n\n{HORN}\n\n-->")),
    Case("year written before it", FOG, "edited", sub("horn.md", HORN, f"2019: {HORN}")),
    Case("struck out", FOG, "edited", sub("horn.md", HORN, f"~~{HORN}~~")),
    Case("heading level changed", one(TOWERS, "horn.md", f"# The horn\n\n{HORN}"), "edited",
         sub("horn.md", "# The horn", "### The horn")),
    Case("bullet changed", EARBUDS, "edited", sub(DE, "- **Earbuds**", "* **Earbuds**")),
    Case("translated", PAUSE, "edited",
         sub(PLUS, PAUSED, GERMAN)),
    Case("word changed in the same sentence", EDITION, "edited",
         sub(TERMS, "Older editions: edition 8", "Older editions, no longer valid: edition 8")),
    Case("day changed at the beginning of a line", one(DATES, "zeiten.md", DATES["zeiten.md"][18:-1]), "edited",
         sub("zeiten.md", "30. Juni", "14. Juni")),
    Case("day changed at the beginning of a paragraph", one(HOLIDAYS, "tage.md", HOLIDAYS["tage.md"][13:-1]), "edited",
         sub("tage.md", "1. Mai", "8. Mai")),
    Case("day changed, the one before it below", one(HOLIDAYS, "tage.md", HOLIDAYS["tage.md"][13:-1]), "edited",
         both(sub("tage.md", "1. Mai", "3. Mai"), add("tage.md", "2. Juni: Das Lager ist offen.\n"))),
    Case("negation before a part of a sentence", one(SEAL, "a.md", SEAL["a.md"][15:76]), "edited",
         sub("a.md", "cannot", "can")),
    Case("exception after a part of a sentence", one(SEAL, "a.md", SEAL["a.md"][:75]), "edited",
         sub("a.md", "unless", "even if")),
    Case("item moved to the opposite list", one(COVER, "a.md", COVER["a.md"][12:82]), "ambiguous",
         lambda texts: {"a.md": texts["a.md"].replace(COVER["a.md"][12:83], "") + COVER["a.md"][12:83]}),
    Case("quoted", FOG, "edited", sub("horn.md", HORN, f"Until 2024 it was:\n\n> {HORN}")),
    Case("days changed in a heading", one(HEADED, "returns.md", HEADED["returns.md"][11:-1]), "edited",
         sub("returns.md", "## 30 days", "## 14 days")),
    # Tables
    Case("rows of a table reordered", ROW, "moved",
         lambda texts: texts | {CODES: re.sub(r"(\| E05.*\n)([\s\S]*?)(\| E30.*\n)", r"\2\3\1", texts[CODES])}),
    Case("column added", ROW, "edited", each(lambda text: re.sub(r"(?m)^(\| E\d\d .*)$", r"\1 none |", text), CODES)),
    Case("value of a table changed", ROW, "edited", sub(CODES, "within 4 minutes", "within 6 minutes")),
    Case("row inserted between two", ROWS, "edited",
         sub(SCOOTER, "| Weight |", "| Top speed | 20 km/h | 25 km/h |\n| Weight |")),
    # What is gone, or there twice
    Case("passage deleted", FOG, "gone", sub("horn.md", HORN + "\n\n", "")),
    Case("document deleted", FOG, "gone", drop("horn.md")),
    Case("document emptied", FOG, "gone", lambda texts: texts | {"horn.md": ""}),
    Case("section deleted, an older version stays", EXPIRES, "elsewhere", sub(PLUS, SECTION, "")),
    Case("duplicated in another file", EARBUDS, "unchanged",
         add(CH, f"\n\n{BUDS}")),
    Case("removed, and put in two files", FOG, "ambiguous",
         both(sub("horn.md", HORN, "See elsewhere."), add("boat.md", "\n\n" + HORN), add("lamp.md", "\n\n" + HORN))),
    Case("old version kept as a copy", PAUSE, "unchanged",
         both(copied(PLUS, "plus-terms-2023.md"), sub(PLUS, "## 9. Changes", "## 9. Announcements"))),
    Case("old version kept, passage changed", PAUSE, "ambiguous",
         both(copied(PLUS, "plus-terms-2023.md"), sub(PLUS, "**three months**", "**two months**"))),
    Case("copy of the whole folder", PAUSE, "unchanged",
         both(lambda texts: texts | {f"old/{key}": text for key, text in texts.items()}, add(PLUS, "\nNew.\n"))),
    Case("twin stays in another document", one(TWINS, "lamp.md", KEPT.strip()), "elsewhere",
         sub("lamp.md", KEPT, "\n")),
    Case("a line of many documents, one removed", FOOTER, "elsewhere", sub("lamp.md", "\n\n" + FOOT, "")),
    Case("a line of many documents, another removed", one(TOWERS, "horn.md", FOOT), "unchanged",
         sub("lamp.md", "\n\n" + FOOT, "")),
    Case("a line of 600 documents, its document edited",
         made(TOWERS | {f"{n}.md": FOOT for n in range(600)}, Passage(FOOT, "lamp.md")), "unchanged",
         add("lamp.md", "\nThe end.\n")),
    # Forms of labels
    Case("literal, document renamed", made(TOWERS, HORN.upper()), "moved", named("horn.md", "fog.md"), "fog.md"),
    Case("literal of a document, changed", made(TOWERS, Passage(HORN, "horn.md")), "edited",
         sub("horn.md", "forty", "sixty")),
    Case("literal of a document, moved", made(TOWERS, Passage(HORN, "horn.md")), "moved",
         both(sub("horn.md", HORN, "-"), add("boat.md", "\n" + HORN)), "boat.md"),
    Case("literal in many documents, one deleted", made(TOWERS, FOOT), "unchanged", drop("boat.md"), "lamp.md"),
    Case("literal in all documents, each edited", made(TOWERS, FOOT), "unchanged",
         each(lambda text: text.replace("# The", "# On the")), "boat.md"),
    Case("literal that occurs many times", made(OFFICE, "Closed on Monday."), "unchanged",
         each(lambda text: text + "\nMore.\n"), "a.md"),
    Case("short, its surroundings changed", one(SHORT, "a.md", "Closed."), "ambiguous",
         sub("a.md", "The yard is in Velle.", "The yard and the office are on the island now.")),
    Case("short, the question before it changed", one(FAQ, "faq.md", "Yes."), "ambiguous",
         sub("faq.md", "allowed in the yard", "forbidden in the yard")),
    Case("short, something else changed", one(FAQ, "faq.md", "Yes."), "unchanged", add("faq.md", "\nMore.\n")),
    Case("judged irrelevant, moved", UNWANTED,
         "moved", both(sub("horn.md", HORN, "-"), add("boat.md", "\n" + HORN)), "boat.md"),
    Case("judged irrelevant, gone", UNWANTED, "gone",
         drop("horn.md")),
    Case("page that is another page now", PAGE, "unchanged",
         lambda texts: {"book.pdf": "A new first page.\f" + texts["book.pdf"]}),
    Case("page that flows into the next", PAGE, "unchanged",
         each(lambda text: text.replace("\nIt is tended", "\fIt is tended").replace("keepers.\f", "keepers.\n"))),
    Case("whole document edited", WHOLE, "unchanged", sub("horn.md", "every forty seconds", "every minute")),
    Case("whole document with CRLF edited", one(CRLF, "horn.md", CRLF["horn.md"]), "unchanged",
         sub("horn.md", "every forty seconds", "every minute")),
    Case("whole document renamed", WHOLE, "moved", named("horn.md", "fog.md"), "fog.md"),
    Case("whole document as a literal, edited", made(TOWERS, TOWERS["horn.md"]), "edited",
         sub("horn.md", "every forty seconds", "every minute")),
)
# fmt: on


@pytest.fixture(scope="module")
def shop() -> Dataset:
    return rl.load_dataset("shop_support")


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_became_of_a_label(case: Case, shop: Dataset) -> None:
    data = case.label if isinstance(case.label, Dataset) else shop
    now = case.edit({document.id: document.text for document in data.documents})
    passages = update_labels(data, now).passages
    found = passages[0] if data is case.label else {(each.query_id, each.where): each for each in passages}[case.label]
    assert found.kind == case.kind, (found.rule, found.candidates)
    if found.kind not in CERTAIN:
        assert found.new is found.new_place is None
        return
    old, new = found.old_place, found.new_place
    assert new.doc_id == (case.doc or old.doc_id)
    text = data.document_by_id[old.doc_id].text
    if (old.start, old.end) != (0, len(text)):  # a label that is all of a document is all of it again
        there = now[new.doc_id][new.start : new.end]
        assert fold_format(there).text == fold_format(text[old.start : old.end]).text
