"""Names, pronouns, age, birthday, nationality, contact."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..phrases import count, lowercase_name, person
from ..temporal import parse_dates
from .base import I_AM, LIKELY, MY, SURE, Draft, Rule, Seen, rule, vocabulary

NATIONALITIES = vocabulary(
    "american australian austrian bangladeshi belgian brazilian british bulgarian canadian chilean chinese "
    "colombian croatian cuban czech danish dutch egyptian english estonian ethiopian"
    " filipino finnish french german ghanaian greek hungarian icelandic indian indonesian iranian iraqi irish "
    "israeli italian jamaican japanese jordanian kenyan korean latvian lebanese"
    " lithuanian malaysian mexican moroccan nepalese nigerian norwegian pakistani peruvian polish portuguese "
    "romanian russian saudi scottish senegalese serbian singaporean slovak slovenian"
    " spanish swedish swiss syrian taiwanese thai tunisian turkish ukrainian venezuelan vietnamese welsh"
)
_NOT_A_NAME = NATIONALITIES | vocabulary(
    "vegan vegetarian muslim jewish christian catholic hindu buddhist atheist ok okay team web java python "
    "linux windows android ios mac senior junior head chief vp cto ceo cfo coo lead director"
    " based married single divorced engaged retired unemployed self-employed allergic left right adhd autistic "
    "diabetic deaf blind gay bi trans mr mrs god all both half almost one two three"
)
_NICKNAME_STOP = vocabulary(
    "back later tomorrow maybe crazy when if at asap now old a an the paranoid picky lazy anytime tonight "
    "today on in to whatever what by names out up"
)
_NOT_HERE = vocabulary(
    "same looky look right over up down out everyone everybody nothing none something someone anyone all everything not"
    " new come still nobody welcome stay wait there good great question problem only also back being get got"
)
_EMAIL = r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}"
_PHONE = r"\+?\(?\d[\d ()/.-]{5,20}\d"


def _name(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    kind = (match["kind"] or "").lower().strip()
    key = {"first": "first_name", "given": "first_name", "last": "surname", "family": "surname"}.get(kind, "name")
    value = person(match["x"]) or lowercase_name(match["x"])
    if value:
        yield Draft(key, value, SURE)


def _surname(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = person(match["x"]) or lowercase_name(match["x"])
    if value:
        yield Draft("surname", value, SURE)


def _i_am(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I'm Tomasz: a capital alone makes it a name, so what follows must look like an introduction."""
    value = person(match["x"])
    if not value or any(word.lower().rstrip(".") in _NOT_A_NAME for word in value.split() if word != "Dr."):
        return
    rest = match["x"][len(value) :].strip()
    if value.isupper() and len(value) <= 4:
        return
    if not rest or re.match(
        r"[,.(]|(?:and|from|here|by the way|btw|again|but|the new|your|a|an|to (?:everyone|everybody"
        r"|friends|my friends|most people|all))\b",
        rest,
        re.I,
    ):
        yield Draft("name", value, LIKELY)


def _here(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = person(match["x"])
    if value and value == match["x"].strip() and value.lower() not in _NOT_A_NAME | _NOT_HERE:
        yield Draft("name", value, LIKELY)


def _nickname(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    first = match["x"].split()[0].strip(",.!").lower()
    if first in _NICKNAME_STOP:
        return
    value = person(match["x"]) or lowercase_name(match["x"])
    if value:
        yield Draft("nickname", value, SURE)


def _its_name(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = person(match["x"])
    if value and re.search(
        r"\bmy (?:first |full |last )?name\b|\bname(?:'s| is)\b|\b(?:named|calls?) me\b",
        f"{seen.before} {seen.sentence}",
        re.I,
    ):
        yield Draft("name", value, SURE)


def _pronouns(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("pronouns", re.sub(r"\s*(?:/| and )\s*", "/", match["x"].lower()), SURE)


def _age(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    years = count(match["n"])
    if years is not None and 3 <= years <= 120:
        yield Draft("age", years, SURE)


def _turned(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    years = count(match["n"])
    if years is None or not 3 <= years <= 120:
        return
    future = match["verb"].strip().lower() in (
        "turn",
        "turning",
        "will be",
        "'ll be",
        "will turn",
        "'ll turn",
        "am turning",
        "'m turning",
    )
    yield Draft("age", years - 1 if future else years, LIKELY)


def _birthday(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    if re.match(r"(?:the )?(?:feb(?:ruary)? (?:the )?29|29(?:th)?(?: of)? feb)", match["x"], re.I):
        yield Draft("birthday", "--02-29", SURE)
        return
    found = parse_dates(match["x"], seen.at, prefer="past")
    if found and found[0].grain == "year" and found[0].text.lower().startswith("in "):
        yield Draft("birthday", found[0].iso, LIKELY)
    if found and found[0].grain == "month" and re.search(r"\d{4}$", found[0].text):
        yield Draft("birthday", found[0].iso, LIKELY)
    elif found and found[0].grain == "month" and found[0].text.lower().startswith("in "):
        yield Draft("birthday", f"--{found[0].start.month:02d}", LIKELY)
    if found and found[0].grain == "day":
        day = found[0].start
        yield Draft("birthday", f"--{day.month:02d}-{day.day:02d}" if found[0].yearless else found[0].iso, SURE)


def _nationality(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    if match["x"].lower() in NATIONALITIES:
        yield Draft("nationality", match["x"], LIKELY)


def _citizen(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """A Londoner, a New Yorker, a Brazilian."""
    if match["x"].split()[-1].lower() not in _NOT_A_NAME and not re.search(
        r"(?:Developer|Engineer|Designer|Manager|Teacher|Writer|Christian|Vegetarian|Librarian|Swifter"
        r"|Officer)$",
        match["x"],
    ):
        yield Draft("nationality", match["x"], LIKELY)


def _marital(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("marital_status", match["x"].lower(), LIKELY)


def _decade(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("age", match["x"].lower(), LIKELY)


def _email(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("email", match["x"].rstrip("."), SURE)


def _phone(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("phone", match["x"].strip(), SURE)


def _condition(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = match["x"].lower()
    yield Draft(f"condition.{_CONDITIONS.get(name, name).replace(' ', '_').replace('-', '_')}", True, LIKELY)


_CONDITIONS = {
    "diabetic": "diabetes",
    "asthmatic": "asthma",
    "epileptic": "epilepsy",
    "dyslexic": "dyslexia",
    "autistic": "autism",
    "color-blind": "colour-blind",
}


def _goal(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    dates = parse_dates(match["x"], seen.at)
    said = re.sub(
        r"\s+(?:on|in|by|at|before|this|next)$",
        "",
        match["x"][: dates[0].span[0]].strip(" ,.") if dates else match["x"].strip(" ."),
    )
    if 0 < len(said.split()) <= 12:
        yield Draft("goal", said, LIKELY)


RULES: tuple[Rule, ...] = (
    rule(
        r"(?:I (?:aim|resolved) to|I'm aiming to|I'm (?:trying|training|saving(?: up)?|working hard) to"
        r"(?= (?:lose|quit|save|learn (?!more|the)|become|get (?:fit|healthier|in shape)|run an?"
        r"|write an?|buy an? (?:house|flat|home|car)|read \d|cut down|stop smoking|qualify|pass)\b)"
        r"|I'm saving (?:up )?for(?= (?:an?|my|our)\b)|I'm training for(?= (?:an?|my|the)\b)) (?P<x>\S.*)",
        _goal,
    ),
    rule(
        rf"{MY} (?:main |biggest |big |long-term |new year's )?(?:goal|aim|target|dream|resolution"
        rf"|ambition|objective)(?: for (?:this"
        r"|next) (?:year|month)| this year)? is to (?P<x>\S.*)",
        _goal,
    ),
    rule(
        rf"{MY} (?P<kind>first |given |full |real |legal |last |family )?name(?:'s| is|:)(?: now| actually"
        r"| really)? (?:called |spelled |spelt |written |pronounced )?(?P<x>\S.*)",
        _name,
    ),
    rule(rf"{MY} (?:surname|last name|family name|maiden name)(?:'s| is) (?P<x>\S.*)", _surname),
    rule(r"(?P<kind>)(?:the )?name(?:'s| is|:) (?P<x>(?-i:[^\W\d_a-z]).*)", _name),
    rule(r"(?P<kind>)I(?:'ve| have)? (?:just |legally |officially )*changed my name to (?P<x>\S.*)", _name),
    rule(r"(?P<kind>)I(?:'m| am| was) (?:called|named) (?P<x>\S.*)", _name),
    rule(rf"{I_AM}(?P<x>\S.*)", _i_am),
    rule(r"(?:it's |this is )?(?P<x>\S+(?: \S+){0,2}),? (?:here|speaking|again)\b", _here),
    rule(r"this is (?P<x>\S+(?: \S+)?),? (?:from|again|here|at)\b", _here),
    rule(
        r"(?:please |just |you (?:can|may|should) (?:just )?|(?:everyone|everybody|people|friends|(?:my"
        r"|our) (?:friends|colleagues|family|mates|coworkers|kids|students|team)|they"
        r"|most people)(?: usually| just| all)? )*calls? me (?P<x>\S.*)",
        _nickname,
    ),
    rule(
        r"(?:I (?:go|usually go|mostly go) by|(?:people|friends|most people|everyone) knows? me as) (?P<x>\S.*)",
        _nickname,
    ),
    rule(rf"{MY} nickname(?:'s| is) (?P<x>\S.*)", _nickname),
    rule(r"(?:it's|it is|that's) (?:spelled |written |just |actually |really )?(?P<x>\S.*)", _its_name),
    rule(
        rf"(?:{MY} (?:preferred )?pronouns are|I use|I go by) (?P<x>\w+(?:\s?/\s?\w+){{1,2}}|(?:he and him"
        r"|she and her|they and them))",
        _pronouns,
    ),
    rule(rf"{I_AM}(?P<n>\d{{1,3}}|[a-z]+(?:[ -][a-z]+)?) years? (?:old|of age|young)\b", _age),
    rule(rf"{I_AM}(?P<n>\d{{2,3}})(?:\s*$|,| and\b| now\b)", _age),
    rule(
        rf"{I_AM}(?P<n>(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three"
        rf"|four|five|six|seven|eight|nine))?|eighteen|nineteen)(?:\s*$|,| and\b)",
        _age,
    ),
    rule(
        rf"{I_AM}in my (?P<x>(?:early |mid[- ]?|late )?(?:\d0s|teens|twenties|thirties|forties|fifties"
        rf"|sixties|seventies|eighties))\b",
        _decade,
    ),
    rule(
        rf"{I_AM}(?:an? )?(?:practi[sc]ing |devout |lapsed )?"
        r"(?P<x>muslim|christian|catholic|jewish|hindu|buddhist|sikh|atheist|agnostic|mormon"
        r"|protestant|orthodox christian)(?:$|,| and\b| but\b)",
        lambda match, seen: [Draft("my.religion", match["x"], LIKELY)],
    ),
    rule(rf"{MY} age is (?P<n>\d{{1,3}})\b", _age),
    rule(
        r"I(?P<verb>'ll be| will be| will turn|'ll turn| am turning|'m turning| turn) (?P<n>\d{1,3}"
        r"|[a-z]+(?:-[a-z]+)?) (?:next|in|on|this|tomorrow|soon|years)",
        _turned,
    ),
    rule(r"I(?:'ve)? (?:just |recently )?(?P<verb>turned) (?P<n>\d{1,3}|[a-z]+(?:-[a-z]+)?)\b", _turned),
    rule(rf"{MY} (?:birthday|birth date|date of birth|bday)(?:'s| is| falls)(?: on)? (?P<x>\S.*)", _birthday),
    rule(
        r"I was born (?:in (?!(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|\d)\S+ )?(?:on )?(?P<x>\S.*)",
        _birthday,
    ),
    rule(rf"{I_AM}(?P<x>[a-z]+)(?: citizen| national)?(?:$|,| and\b| but\b| by (?:birth|nationality))", _nationality),
    rule(r"(?:I|we) (?:just |recently |finally )?got (?P<x>married|engaged|divorced)\b(?! to\b)", _marital),
    rule(
        rf"{I_AM}an? (?P<x>(?-i:[A-Z])[a-z]+(?: (?-i:[A-Z])[a-z]+)?(?:er|ian|ite))(?:$|,| and\b| by birth| "
        rf"at heart| through)",
        _citizen,
    ),
    rule(rf"{I_AM}(?P<x>single|married|engaged|divorced|widowed)\b(?! to (?!an? ))(?!-)", _marital),
    rule(
        rf"(?:.*\b)?(?:{MY} (?:work |personal |private )?e-?mail(?: address)?(?: is|:|'s)|(?:reach|e-?mail|contact"
        rf"|write|ping|message) (?:to )?me (?:at|on|via|under)) (?P<x>{_EMAIL})",
        _email,
    ),
    rule(
        rf"(?:.*\b)?(?:{MY} (?:(?:phone|mobile|cell|telephone|work|home|whatsapp) )*(?:number|phone"
        rf"|cell|whatsapp|landline|tel"
        rf"|mobile)(?: is|:|'s)|(?:reach|call|text|phone|contact|message) me (?:.* or )?(?:by phone )?"
        rf"(?:at|on|under|via)) (?P<x>{_PHONE})",
        _phone,
    ),
    rule(
        rf"(?:{I_AM}|I (?:have|suffer from|was diagnosed with|live with) |I've (?:got"
        r"|been diagnosed with) )(?P<x>diabetic|asthmatic|epileptic|dyslexic|autistic"
        r"|colou?r[- ]?blind|left-handed|right-handed"
        r"|coeliac|celiac|hard of hearing|deaf|dyspraxic|type [12] diabetes|diabetes|asthma|adhd"
        r"|epilepsy|dyslexia|autism|migraines|arthritis|celiac disease"
        r"|coeliac disease|high blood pressure|insomnia|tinnitus)\b",
        _condition,
    ),
    rule(
        r"(?:I have|I've got|I suffer from)\b.*\band (?P<x>type [12] diabetes|diabetes|asthma|adhd"
        r"|epilepsy|dyslexia|autism|migraines|arthritis|celiac disease"
        r"|coeliac disease|high blood pressure|insomnia|tinnitus|eczema|hay fever|anxiety|ibs)\b",
        _condition,
    ),
    rule(
        rf"(?:mine|it) is (?P<x>{_PHONE})$",
        lambda match, seen: (
            _phone(match, seen) if re.search(r"\b(?:number|phone|mobile|call)\b", seen.sentence, re.I) else ()
        ),
    ),
)
