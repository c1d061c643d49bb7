"""Role, employer, team, studies, school, project."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from ..phrases import cut, organisation
from ..temporal import parse_dates
from .base import ADVERBS, GUESS, I_AM, LIKELY, MY, SURE, Draft, Rule, Seen, rule, vocabulary

_ROLE_WORDS = vocabulary(
    "nurse chef pilot cto ceo cfo coo cmo cpo ciso vp svp evp student intern freelancer contractor consultant "
    "dev developer lead architect analyst scientist manager teacher doctor lawyer attorney"
    " judge cook barista clerk cashier tech technician sre devops dba sysadmin admin administrator pm qa "
    "founder cofounder co-founder owner entrepreneur researcher postdoc phd professor lecturer tutor"
    " coach therapist psychologist psychiatrist surgeon dentist vet veterinarian pharmacist paramedic midwife "
    "caregiver librarian journalist reporter editor writer author poet translator interpreter"
    " designer artist musician composer singer actor actress dancer director producer photographer filmmaker "
    "animator illustrator plumber electrician carpenter mechanic welder builder farmer gardener"
    " florist baker butcher bartender waiter waitress driver courier sailor soldier officer firefighter "
    "policeman policewoman detective guard accountant auditor banker trader broker economist actuary"
    " statistician mathematician physicist chemist biologist geologist historian philosopher linguist engineer "
    "programmer coder hacker tester marketer salesperson salesman recruiter coordinator"
    " assistant secretary receptionist specialist strategist planner buyer supervisor foreman principal dean "
    "captain astronomer archaeologist anthropologist pediatrician paediatrician radiologist"
    " cardiologist neurologist dermatologist oncologist anesthesiologist physiotherapist optometrist "
    "nutritionist dietitian hairdresser barber tailor jeweller jeweler watchmaker cleaner janitor"
    " housekeeper nanny babysitter homemaker housewife househusband retiree pensioner undergraduate "
    "postgraduate sophomore freshman junior apprentice trainee fellow partner associate executive"
    " president chairman chairwoman chairperson treasurer politician diplomat ambassador priest pastor imam "
    "rabbi monk nun missionary curator blogger youtuber streamer podcaster influencer model"
    " referee umpire athlete footballer swimmer cyclist boxer jockey trainer instructor professional "
    "representative rep agent realtor paralegal notary magistrate planner surveyor draftsman"
    " machinist operator dispatcher controller inspector examiner assessor appraiser adjuster underwriter "
    "teller copywriter proofreader publisher bookseller shopkeeper stylist beautician masseur"
    " counselor counsellor advisor adviser mentor educator headmaster headteacher maintainer generalist "
    "biochemist toxicologist epidemiologist seamstress mason roofer painter sculptor potter"
)
_ROLE_SUFFIX = re.compile(
    r"(?:ologist|ician|smith|wright|grapher|engineer|developer|designer|manager|scientist|keeper|maker|worker"
    r"|therapist|trician|nomist|logist)$"
)
_AGENT = re.compile(r"(?:er|or|ist|eer|man|woman|maid|herd|wife)$")
_NOT_JOBS = vocabulary(
    "winner sucker believer beginner stranger loser foreigner member gamer drinker smoker reader "
    "lover person newcomer outsider insider"
    " number matter monster sister brother mother father daughter survivor donor minor senior junior "
    "follower subscriber supporter dreamer"
    " thinker overthinker learner sleeper riser owner homeowner voter taxpayer traveler traveller "
    "customer user newsletter computer laptop"
    " holder cardholder shopper buyer commuter renter tenant passenger pensioner starter rookie "
    "sinner listener viewer watcher lurker helper"
    " stutterer fidgeter hoarder tinkerer hugger talker eater feminist optimist pessimist realist "
    "perfectionist minimalist atheist idealist"
    " socialist capitalist racist sexist narcissist pacifist nationalist communist anarchist tourist "
    "cyclist human woman man fisherman gentleman"
    " layman superman batman german roman ottoman walker carer quitter procrastinator sitter prayer "
    "character letter chapter order offer"
    " answer error color colour favor favour mirror humor humour rumor rumour doctor-to-be debtor "
    "contender finisher introvert hater master"
    " later better older younger bigger faster other another over under never ever after together "
    "however whatever either neither"
    " forever player collector communicator former goner keeper-up breather newlywed amateur "
    "neighbor neighbour visitor ancestor predator juror hiker jogger sceptic skeptic lifer"
)
_NO_NOUN = vocabulary("to as a an off not be is and or the my your in on too so very there here that this")
_PRAISE = vocabulary("great good natural born quick fast slow huge big proud amazing decent self-proclaimed")
_NOT_ROLE = vocabulary(
    "aspiring budding future former ex wannabe would-be terrible bad lousy bit little fan morning night person "
    "human robot beginner user customer member newbie mess"
)
_GENERIC_PLACES = vocabulary(
    "home night school work university college all least present times first once hand risk ease"
)


def is_role(phrase: str) -> bool:
    words = [word.strip(".,").lower() for word in phrase.split()]
    if not words or words[0] in _NOT_ROLE or "ai" in words or re.match(r"language model", " ".join(words[-2:])):
        return False
    if _NO_NOUN & set(words) or words[0] in _PRAISE:
        return False
    head = words[-1] if " of " not in f" {phrase} " else phrase.lower().split(" of ")[0].split()[-1]
    singular = head[:-1] if head.endswith("s") and head[:-1] in _ROLE_WORDS else head
    if singular in _ROLE_WORDS or _ROLE_SUFFIX.search(head) or words[0] in ("head", "stay-at-home", "chief", "vice"):
        return True
    proper = phrase.split()[-1][:1].isupper() and not phrase[:1].isupper()
    return bool(_AGENT.search(head)) and head not in _NOT_JOBS and len(head) > 4 and not proper and not phrase.istitle()


def role_phrase(text: str) -> tuple[str, str]:
    """The role at the start of a phrase, and what follows it."""
    parts = re.split(
        r"\s+(?=(?:at|for|with|in|on|from|working|speciali[sz]ing|focus(?:ing|ed)|who|by|based|living|since|here"
        r"|over|to the|(?:two|three|four|five|\d+) (?:days?|hours?|times|shifts|nights)|once|twice"
        r"|every|most|part-time|full-time|whatever)\b)|\s*[,(;]",
        text,
        maxsplit=1,
    )
    role = cut(re.sub(r"^(?:an?|the) ", "", parts[0].strip(), flags=re.I), words=5)
    return role, parts[1] if len(parts) > 1 else ""


def _since(text: str, at: datetime) -> datetime | None:
    found = parse_dates(text, at)
    return found[0].start if found and found[0].start <= at else None


def employer_in(rest: str, seen: Seen) -> Iterable[Draft]:
    match = re.match(r"(?:working )?(?P<how>at|for|with|here at|over at)\s+(?P<x>\S.*)", rest, re.I)
    if match:
        yield from _employer(match, seen) if match["how"].lower().endswith("at") else named_employer(match, seen)


def _role(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    role, rest = role_phrase(match["x"])
    if not role or not is_role(role):
        return
    yield Draft("role", role, LIKELY, _since(rest, seen.at))
    found = list(employer_in(rest, seen))
    learns = re.search(r"\b(?:student|undergraduate|sophomore|freshman|phd candidate)\b", role, re.I)
    yield from (
        Draft("school", item.value, item.confidence) if learns and item.key == "employer" else item for item in found
    )


def _officer(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """The CTO of Ledgerly, the owner of a bakery called Crumb."""
    if not is_role(match["role"]) or "student" in match["role"].lower():
        return
    yield Draft("role", match["role"], LIKELY)
    named = re.search(r"\b(?:called|named) (?P<n>\S.*)", match["x"] or "")
    company = organisation(named["n"] if named else match["y"] or "")
    if company:
        yield Draft("employer", company, LIKELY)


def _industry(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = cut(re.split(r"\s+(?:at|for|in|with|on|as)\b|,", match["x"])[0], words=3)
    if (
        value
        and value[0].islower()
        and not re.match(
            r"(?:an?|the|my|our|this|that|shifts?|pairs|teams|groups|silence|progress|person|different|many|several|two"
            r"|three)\b",
            value,
        )
    ):
        yield Draft("industry", value, GUESS)


def _speaking_as(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """As a nurse, I …: the clause before the comma."""
    if re.search(rf"\bas (?:an?|the|their|our) {re.escape(match['x'])}[\w' ]*,? (?:I|my|we)\b", seen.sentence, re.I):
        yield from _role(match, seen)


def stated_role(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """After "I work as" or "my title is" any short phrase is a role."""
    role, rest = role_phrase(match["x"])
    if role and not re.match(
        r"(?:to|not|that|what|hard|great|good|boring|fine|ok|very|so|too|expected|intended|usual)\b", role, re.I
    ):
        yield Draft("role", role, SURE)
        yield from employer_in(rest, seen)


def _job_is(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    role, _ = role_phrase(match["x"])
    if role and is_role(role):
        yield Draft("role", role, SURE)


def _teaches(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    subject, rest = role_phrase(match["x"])
    subject = re.split(r"\s+to\b", subject)[0]
    if (
        subject
        and len(subject.split()) <= 3
        and not re.match(
            r"(?:my|you|him|her|them|people|kids|students|courses|classes|lessons|a|the|at|in|part)\b", subject, re.I
        )
    ):
        yield Draft("role", f"{subject} teacher", LIKELY)
        at_school = re.match(r"at (?P<x>\S.*)", rest)
        if at_school:
            yield from named_employer(at_school, seen)


def runs(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    business = re.sub(
        r"^(?:(?:small|little|tiny|family|own|local|online|big) )+",
        "",
        cut(re.split(r"\s+(?:in|near|on|with|for|at|called|named|from)\b|,", match["x"])[0], words=4),
    )
    if business and re.search(_BUSINESS, business, re.I):
        yield Draft("role", f"{business} owner", LIKELY)


_BUSINESS = (
    r"(?:bakery|caf[eé]|restaurant|bar|shop|store|company|startup|start-up|business|studio|agency|farm|hotel"
    r"|clinic|practice|salon|gym|school|brewery|winery|consultancy|firm|gallery|bookshop|bookstore|workshop"
    r"|nursery|pub|guesthouse|hostel|vineyard|ranch|orchard|theatre|theater|museum|food truck|blog|podcast"
    r"|kennel|stables|kindergarten|daycare|b&b|garage)$"
)


_CAPITAL = re.compile(r"(?!I\b)[A-ZÀ-Þ]")


def _employer(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    text = match["x"]
    text = text if re.match(r"the [a-z]", text) else re.sub(r"^the ", "", text, flags=re.I)
    value = organisation(text)
    if value is None:
        plain = re.match(r"(?:an?|the) (?P<x>[a-z][\w -]{2,50})", text, re.I)
        small = re.match(r"[a-z][\w&-]*(?: [a-z][\w&-]*)?(?=$|,| as | in | for | and )", text)
        if small and not _CAPITAL.search(seen.sentence) and small[0].split()[0] not in _NO_NOUN | _GENERIC_PLACES:
            yield Draft("employer", small[0], GUESS)  # all is written small
            return
        value = (
            cut(re.split(r"\s+(?:in|near|on|as|called|with|for|from|that|which)\b|,", plain["x"])[0], words=4)
            if plain
            else None
        )
        if not value or value.split()[0].lower() in (
            "moment",
            "same",
            "time",
            "weekend",
            "office",
            "project",
            "team",
            "bit",
            "lot",
            "while",
            "new",
            "deadline",
            "few",
        ):
            return
    if value.lower() not in _GENERIC_PLACES:
        yield Draft("employer", value, LIKELY, _since(text, seen.at))
    as_role = re.search(r"\bas (?:an? |the )?(?P<x>\S.*)", text)
    if as_role:
        yield from stated_role(as_role, seen)


def named_employer(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    text = re.sub(r"^the |^an? [a-z][\w -]{2,40}? (?:called|named) ", "", match["x"], flags=re.I)
    value = organisation(text)
    if value and not value[0].isdigit():
        yield Draft("employer", value, LIKELY, _since(text, seen.at))
        as_role = re.search(r"\bas (?:an? |the )(?P<x>\S.*)", text)
        if as_role:
            yield from stated_role(as_role, seen)


def _team(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = match["x"].strip()
    if len(value.split()) <= 3 and value.lower() not in (
        "same",
        "other",
        "wrong",
        "winning",
        "whole",
        "right",
        "best",
        "entire",
    ):
        yield Draft("team", value, LIKELY)
        after = seen.clause[match.end() :].strip()
        yield from employer_in(after, seen)


def _self_employed(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    said = match["x"].lower()
    yield Draft("role", "self-employed" if said in ("for myself", "self-employed", "self employed") else said, LIKELY)


def _studies(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    parts = re.split(r"\s+(?:at|in|from)\s+", match["x"], maxsplit=1)
    field = cut(parts[0], words=4)
    if field and not re.match(
        r"(?:for|the|a|an|my|hard|this|that|it|at|in|how|what|abroad|with|every|late|\d+)\b", field, re.I
    ):
        yield Draft("studies", field, LIKELY)
        school = organisation(re.sub(r"^the ", "", parts[1])) if len(parts) > 1 else None
        if school:
            yield Draft("school", school, LIKELY)


def _school(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    school = organisation(re.sub(r"^the ", "", match["x"]))
    enrolled = re.search(r"\bstudent at\b|\bgraduated from\b", match[0], re.I)
    if school and (enrolled or SCHOOL.search(school)):
        yield Draft("school", school, LIKELY)


SCHOOL = re.compile(
    r"universi|college|school|institut|academy|polytechnic|\b(?:MIT|UCLA|ETH|EPFL|NYU|Harvard|Stanford|Oxford"
    r"|Cambridge|Yale|Princeton|Caltech|Berkeley)\b",
    re.I,
)


def _project(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    value = cut(re.split(r"\s+[-–—]+\s+|,", match["x"])[0], words=7)
    value = re.sub(r"\s+(?:for|to|with|in|on|of|about)$", "", value)
    if (
        value
        and value.lower() != "project"
        and not re.search(
            r"\b(?:bug|fix|issue|problem|ticket|pr|pull request|solution|way|query|function|test|script|report|email"
            r"|presentation|reply|answer|response|list|few|lot|couple|bit|difference|decision|plan|point|mess|mistake"
            r"|change|move|dinner|note|call|chapter)\b",
            value,
            re.I,
        )
    ):
        yield Draft("project", value, GUESS)


RULES: tuple[Rule, ...] = (
    rule(
        rf"{I_AM}(?:the |an? )?(?P<role>(?:[\w-]+ ){{0,2}}[\w-]+) (?:of|at) (?:(?:an? |my own |our "
        r"|this )(?P<x>[^,]*(?:called|named) .*)|(?P<y>(?-i:[A-Z]).*))",
        _officer,
    ),
    rule(rf"I {ADVERBS}work in (?P<x>(?-i:[a-z]).*)", _industry),
    rule(rf"I {ADVERBS}do (?P<x>(?:freelance|contract) [\w -]{{3,40}}|[\w -]{{3,40}}(?= for a living))", stated_role),
    rule(
        rf"{MY} (?:own |small |little |new )*(?:company|employer|startup|start-up|firm|business|agency"
        rf"|studio|lab|charity|nonprofit), (?P<x>(?-i:[A-Z])[\w &.-]*),",
        named_employer,
    ),
    rule(rf"{I_AM}(?:working as )?(?:an?|the|one of the) (?P<x>\S.*)", _role),
    rule(
        rf"{I_AM}(?P<x>(?:head|director|vp|vice president|chief|senior|lead|principal|staff|cto|ceo|cfo|coo) ?\S.*)",
        _role,
    ),
    rule(rf"{I_AM}(?P<x>cto|ceo|cfo|coo|head of \w+)\b", _role),
    rule(r"I(?:'ve| have) been (?:working as )?(?:an? |the )(?P<x>\S.*)", _role),
    rule(
        rf"I {ADVERBS}(?:work|serve|volunteer|freelance|make a living|earn my living)(?: [\w-]+){{0,3}}? as (?:an? "
        r"|the )?(?P<x>\S.*)",
        stated_role,
    ),
    rule(
        r"(?:I've|I have) been (?:working|employed|freelancing|volunteering|serving) as (?:an? |the )?"
        r"(?P<x>\S.*)",
        stated_role,
    ),
    rule(rf"{I_AM}(?:working|employed|freelancing) as (?:an? |the )?(?P<x>\S.*)", stated_role),
    rule(
        rf"{MY} (?:(?:job|official|current|work) )?(?:title|occupation|profession|position)(?:'s| is"
        r"|:)(?: now)? (?:an? |the |that of an? )?(?P<x>\S.*)",
        stated_role,
    ),
    rule(
        rf"{MY} (?:current |day |new |official |main |actual |formal )?(?:role|job)(?:'s| is|:)(?: "
        rf"now)? (?:an? |the |being an? "
        r"|that of an? )?(?P<x>\S.*)",
        _job_is,
    ),
    rule(
        rf"I(?:'ve| have)? {ADVERBS}(?:got |been |was |am )*(?:promoted to|appointed|hired as|became"
        r"|become) (?:an? |the |as an? )?(?P<x>\S.*)",
        stated_role,
    ),
    rule(
        r"I(?:'ve| have)? (?:just |recently )*(?:started|got|took|landed|found|have) (?:a|my) (?:new )?(?:job"
        r"|position|role) as (?:an? |the )?(?P<x>\S.*)",
        stated_role,
    ),
    rule(r"I was (?:just |recently )?(?:promoted to|appointed|hired as) (?:an? |the )?(?P<x>\S.*)", stated_role),
    rule(r"as (?:an?|the|their|our) (?P<x>[\w' -]{3,50})$", _speaking_as),
    rule(rf"{I_AM}an? (?P<x>[\w -]{{3,40}}) by (?:trade|profession)\b", stated_role),
    rule(rf"(?:I {ADVERBS}teach|I(?:'ve| have) been teaching|{I_AM}teaching) (?P<x>\S.*)", _teaches),
    rule(r"I(?:'m| am) (?-i:[A-ZÀ-Þ])[\w'-]+(?: (?-i:[A-ZÀ-Þ])[\w'-]+)?, (?:an?|the) (?P<x>\S.*)", _role),
    rule(rf"(?:I|we) {ADVERBS}(?:run|own|opened|started|founded) (?:an? |my own |our own )(?P<x>\S.*)", runs),
    rule(rf"{I_AM}(?P<x>retired|unemployed|self-employed|self employed)\b", _self_employed),
    rule(rf"I {ADVERBS}work (?P<x>for myself)\b", _self_employed),
    rule(
        rf"I {ADVERBS}work (?:(?:remotely|part-time|full-time|nights|days|weekends|evenings|shifts) )?"
        r"(?:(?:\d|two|three|four|five|six) (?:days|hours|shifts|nights) (?:a|per) (?:week|day) )?"
        r"(?:(?:the |a )?(?:night|day|late|early|graveyard|morning|evening|weekend) shifts? )?"
        r"(?:at|for|over at|here at) (?P<x>\S.*)",
        _employer,
    ),
    rule(
        rf"(?:{I_AM}|I've been |I have been )(?:working|employed) (?:(?:remotely|part-time|full-time) )?(?:at|by"
        r"|for) (?P<x>\S.*)",
        _employer,
    ),
    rule(
        r"I(?:'ve| have)? (?:just |recently |only )*(?:joined|started (?:work(?:ing)? )?(?:at|for|with)|(?:got|took"
        r"|landed|found|started|have) (?:a|my) (?:new |great )?(?:job|position|role) (?:at|with)"
        r"|accepted an? (?:offer|job|position) (?:at|from|with)) (?P<x>\S.*)",
        named_employer,
    ),
    rule(r"I(?:'m| am) now (?:at|with) (?P<x>\S.*)", named_employer),
    rule(
        rf"{MY} (?:current |new )?(?:employer|company|workplace)(?:'s| is|:)(?: called| now)? (?P<x>\S.*)",
        named_employer,
    ),
    rule(
        rf"(?:{I_AM}(?:on|in|with|part of|a member of|from|leading|heading)|I (?:work|am|sit) (?:on|in|with)"
        r"|I (?:joined|lead|head|run|manage)) the (?P<x>[\w&/ -]{2,40}?) (?:team|department|squad|group"
        r"|division)\b",
        _team,
    ),
    rule(
        rf"{MY} (?:team|department|squad)(?:'s| is)(?: called| the)? (?P<x>(?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)?)(?: "
        r"team)?$",
        _team,
    ),
    rule(
        r".{1,40}\bfrom the (?P<x>[\w&/-]+(?: [\w&/-]+)?) (?:team|department)\b",
        _team,
    ),
    rule(
        rf"(?:I {ADVERBS}study|{I_AM}studying|I(?:'m| am) (?:majoring|doing (?:a|my) (?:phd|master's|masters|degree"
        r"|ba|bsc|msc)) in|I majored in|I have an? (?:\w+ )?(?:phd|degree|master's|masters|ba|bsc|msc|mba"
        r"|doctorate) in|my major is|I did my (?:phd|degree|master's|masters) in) (?P<x>\S.*)",
        _studies,
    ),
    rule(
        rf"(?:{I_AM}(?:an? )?(?:\w+ ){{0,2}}student at|I (?:go to|attend|graduated from"
        r"|went to)) (?P<x>(?:the )?(?-i:[A-Z])\w*.*)",
        _school,
    ),
    rule(
        rf"{I_AM}(?:building|writing|working on|developing|creating|making) (?:an? |my own |my )(?P<x>\S.*)", _project
    ),
)
