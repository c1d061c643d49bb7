"""Jobs said in other ways than "I'm a …": new posts, duties, who pays, degrees under way."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..phrases import cut, organisation
from .base import ADVERBS, GUESS, I_AM, LIKELY, MY, Draft, Rule, Seen, rule, vocabulary
from .work import SCHOOL, employer_in, is_role, named_employer, role_phrase, runs, stated_role

DEPARTMENTS = vocabulary(
    "accounting accounts sales marketing hr finance procurement purchasing engineering legal it support logistics"
    " r&d operations ops design product payroll billing security qa data research compliance comms communications"
    " facilities analytics customer infrastructure platform devops recruiting recruitment admissions"
)
_RECENTLY = r"(?:(?:just|recently|finally|now|also|currently|have|had|got|was|been|am|'ve) )*"


def _employed(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    return named_employer(match, seen)


def _duty(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I handle procurement for Lidl: the duty may be anything, the employer is a proper name."""
    company = organisation(re.sub(r"^the ", "", match["org"] or "")) if match["org"] else None
    if company and company.split()[0].lower() not in ("monday", "friday"):
        yield Draft("employer", company, GUESS)


def _charge(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    duty = cut(re.split(r"\s+(?:at|for|with|in)\b|,", match["x"])[0], words=4)
    duty = re.sub(r"^(?:the|all|our) ", "", duty)
    if duty and not re.match(r"(?:this|that|it|my|your|dinner|what|everything|a|an)\b", duty, re.I):
        yield Draft("role", f"{match['how'].lower()} {duty}", GUESS)
    at = re.search(r"\b(?:at|for|with) (?P<x>(?-i:[A-Z]).*)", match["x"])
    if at:
        yield from named_employer(at, seen)


def _living(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    said = cut(match["x"], words=6)
    if said and not re.match(r"(?:travel|commute|use|need|go|have|want|do this|hate|love)\b", said, re.I):
        yield Draft("role", said, LIKELY)


def _job_doing(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    said = cut(re.split(r"\s+(?:for|at|in|on|with) |,", match["x"])[0], words=5)
    if said:
        yield Draft("role", said, LIKELY)


def _student(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    field = cut(re.split(r"\s+(?:at|from|in)\b|,", match["x"])[0], words=4) if match["x"] else ""
    if field and not re.match(r"(?:my|the|a|an|that|this|it)\b", field, re.I):
        yield Draft("studies", field, LIKELY)
    said = re.sub(r"^the ", "", match["school"] or "")
    school = organisation(said) or (cut(said, words=3) if not re.search(r"(?!I\b)[A-Z]", seen.sentence) else None)
    if school:
        yield Draft("school", school, LIKELY)


def _plural(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    role = match["x"].removesuffix("s")
    if is_role(role):
        yield Draft("role", role, GUESS)


def _department(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = match["x"].strip()
    if name.split()[0].lower() in DEPARTMENTS:
        yield Draft("team", name, LIKELY)


def _left_for(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    if organisation(match["old"]):
        yield from named_employer(match, seen)


def _job_title(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    role, rest = role_phrase(match["x"])
    if role and is_role(role):
        yield Draft("role", role, LIKELY)
        yield from employer_in(rest, seen)


_AT_SCHOOL = r"(?: (?:at|from) (?P<school>\S.*))?"

_FIELD = (
    r"(?:[\w&-]+ ){0,2}(?:management|engineering|support|design|marketing|consulting|development"
    r"|research|sales|accounting|analysis"
    r"|analytics|translation|translations|photography|security|testing|recruiting|recruitment"
    r"|logistics|journalism|nursing|carpentry"
    r"|catering|plumbing|coaching|tutoring|copywriting|illustration|animation|admin|administration"
    r"|operations|finance|law|architecture"
    r"|construction|landscaping|bookkeeping|moderation|data science|machine learning|devops|qa|hr|pr|ux|seo)"
)


def _field(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    yield Draft("role", match["x"].strip(), GUESS)
    if match["org"]:
        yield from named_employer(re.match(r"(?P<x>.*)", match["org"]) or match, seen)


def _training(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    role, _ = role_phrase(match["x"])
    if role and is_role(role):
        yield Draft("goal", f"become {match['a'] or ''}{role}", LIKELY)


def _at_place(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """I'm at ETH Zurich doing a postdoc."""
    name = organisation(match["x"])
    if name:
        yield Draft("school" if SCHOOL.search(name) else "employer", name, GUESS)


RULES: tuple[Rule, ...] = (
    rule(r"I (?:hold|occupy|fill|have) the (?:position|post|role|title|office|job) of (?P<x>\S.*)", stated_role),
    rule(
        rf"(?:I freelance|{I_AM}freelancing|I've been freelancing|I have been freelancing)(?:$|,| since| "
        rf"for| full)(?P<x>)",
        lambda match, seen: [Draft("role", "freelancer", LIKELY)],
    ),
    rule(
        rf"{I_AM}(?:studying|preparing|revising|cramming|practi[sc]ing|prepping) for (?:my|the|an?) "
        rf"(?P<x>[\w' -]{{3,40}}?(?:exam|exams|test|interview|finals|marathon|certification|recital|viva"
        rf"|defen[cs]e))\b",
        lambda match, seen: [Draft("goal", match["x"], LIKELY)],
    ),
    rule(r"I spend my (?:days|time|working days|workdays|weeks) (?P<x>[a-z]+ing \S.*)", _job_doing),
    rule(
        rf"{I_AM}(?P<x>on the (?:board|committee|council|faculty|editorial board)(?: (?:of|at|for) "
        rf"[\w' ]{{2,40}})?)",
        lambda match, seen: [Draft("role", match["x"], GUESS)],
    ),
    rule(rf"{I_AM}at (?P<x>(?-i:[A-Z])[\w&.' -]*?) (?:doing|studying|working|as an?|on a)\b", _at_place),
    rule(
        r"(?:I'm|I am) (?:now )?(?:at|with) (?P<x>(?-i:[A-Z])[\w&.]*(?: (?-i:[A-Z])[\w&.]*)*)$",
        lambda match, seen: (
            _at_place(match, seen)
            if re.search(r"\b(?:work|job|employer|company|joined|left|any ?more)\b", seen.sentence, re.I)
            else ()
        ),
    ),
    rule(
        rf"{MY} (?:company|startup|firm|business|employer) (?:makes|sells|builds|develops|provides|does"
        rf"|manufactures|offers|runs) (?P<x>[a-z][\w -]{{2,40}}?)(?: for| to| and|$|,)",
        lambda match, seen: [Draft("industry", match["x"], GUESS)],
    ),
    rule(
        rf"{I_AM}(?:training|studying|retraining|qualifying|working hard|apprenticing) (?:to (?:be|become)"
        rf"|as) (?P<a>an? )?(?P<x>\S.*)",
        _training,
    ),
    rule(
        rf"(?:I|we) (?:do|work in|freelance in|specialise in|specialize in) (?P<x>{_FIELD})(?: (?:for|at"
        rf"|with) (?P<org>\S.*))?(?:$|,| now\b| for\b| at\b)",
        _field,
    ),
    rule(
        r"(?:I've|I have|I) (?:spent|put in|had|done) (?:the (?:last|past) |about |over |nearly "
        r"|almost |more than |my whole )*(?:[\w-]+ ){0,2}?(?:decade|decades|years|year|months"
        r"|career|life) as (?:an? |the )?(?P<x>\S.*)",
        stated_role,
    ),
    rule(r"I (?:earn|make) (?:a|my) living (?:by )?(?P<x>[a-z]+ing \S.*)", _job_doing),
    rule(r"I pay (?:my|the) (?:bills|rent) (?:by )?(?P<x>[a-z]+ing \S.*)", _job_doing),
    rule(
        r"I (?P<x>(?:sell|design|teach|repair|restore|build|import|export|train|breed|groom|cater"
        r"|translate|edit|manage|market|rent out|trade|make) "
        r"(?!this|that|it\b|these|those|them|your|you\b|the\b|my\b|sure|an?\b|sense|do\b|up\b|out\b"
        r"|decisions|mistakes|money|plans)[a-z]+(?: [a-z]+)?)(?:$|,| for a living| for)",
        lambda match, seen: [Draft("role", match["x"], GUESS)],
    ),
    rule(r"(?:we're|we are) (?:both |all )?(?P<x>(?:[\w-]+ )?[a-z]+s)$", _plural),
    rule(
        r"(?:I've|I have) (?:been|worked) in (?P<x>(?!bed|love|pain|touch|contact|therapy|meetings"
        r"|hospital|prison|queue|the|a|an|my|this|that|line|town)(?-i:[a-z])[\w-]+(?: [a-z]+)?) (?:for"
        r"|since|my whole|all my)\b",
        lambda match, seen: [Draft("industry", match["x"], GUESS)],
    ),
    rule(
        rf"{I_AM}in (?P<x>publishing|finance|real estate|insurance|banking|retail|tech|healthcare|education"
        rf"|advertising|hospitality|construction|consulting|journalism|academia|biotech|fintech|shipping"
        rf"|logistics|sales|marketing|law|medicine|film|fashion|tourism|manufacturing|politics|the "
        rf"(?:military|army|navy|film industry|music business))(?:$|,| now| by trade)",
        lambda match, seen: [Draft("industry", match["x"], GUESS)],
    ),
    rule(
        r"(?:they|my (?:boss|company|employer|manager)|the (?:company|board)|we|he|she)(?: have|'ve| "
        r"has|'s)?(?: just| recently| finally)? (?:made|promoted|appointed|named|hired"
        r"|bumped) me (?:up )?(?:to |as |to be )?(?:an? |the |their )?(?P<x>\S.*)",
        _job_title,
    ),
    rule(
        r"I (?:was|got|have been|'ve been) (?:just |recently )?(?:made|named|elected|crowned|bumped (?:up "
        r")?to) (?:an? |the )?(?P<x>\S.*)",
        _job_title,
    ),
    rule(
        r"(?:I|we)\b.* (?:to become|and became|and became|and retrained as|to retrain as|to work as|to "
        r"be) (?:an? |the )(?P<x>\S.*)",
        lambda match, seen: (
            _job_title(match, seen)
            if re.match(
                r"(?:I|we)(?:'ve| have)? (?:just |recently |finally )?(?:quit|left|gave up|dropped out"
                r"|retrained|resigned|moved|switched)",
                match[0],
                re.I,
            )
            else ()
        ),
    ),
    rule(
        r"I(?:'ve| have)? (?:just |recently )*(?:retrained|requalified|turned) (?:as|into|to) (?:an? )?"
        r"(?P<x>\S.*)",
        _job_title,
    ),
    rule(rf"(?:I|we) {ADVERBS}co-?(?:own|run|founded|manage) (?:an? |my own |our own )(?P<x>\S.*)", runs),
    rule(
        r"(?:I|we)(?:'m|'re| am|'ll)? (?:start|starting|begin|beginning)(?: work| a new job| my new job)? "
        r"at (?P<x>(?-i:[A-Z]).*)",
        named_employer,
    ),
    rule(rf"{I_AM}the (?P<x>[\w -]{{3,40}}?) of (?:an?|the|my|our) [a-z]", _job_title),
    rule(r"I(?:'ve| have) been the (?P<x>[\w -]{3,40}?) (?:of|at|for) (?:an?|the|my|our) [a-z]", _job_title),
    rule(
        rf"(?:I|we)(?:'ve|'m|'ll| am)? {_RECENTLY}(?:took over|taken over|taking over|start|started"
        rf"|starting|began|begin"
        r"|beginning|signed on|signed up|stepped up|stepping up|brought in|came on board|hired|hired "
        r"on|promoted|qualified"
        r"|trained|train|moonlight|double|ended up|serving|acting|contracting|freelancing|joined [\w .&-]{2,30}?"
        r"|starting (?:at|with) [\w .&-]{2,30}?|start (?:at|with) [\w .&-]{2,30}?)"
        r"(?: (?:work|out|last \w+|next \w+|this \w+|on \w+|in \w+))* as (?:an? |the |their (?:new )?)?(?P<x>\S.*)",
        stated_role,
    ),
    rule(
        rf"(?:I|we)(?:'ve|'m| am)? {_RECENTLY}(?:hired|recruited|headhunted|poached|employed|taken on|contracted"
        r"|offered a (?:job|position|role)) (?:by|at) (?P<x>\S.*)",
        _employed,
    ),
    rule(
        rf"I {ADVERBS}(?:handle|manage|run|lead|head|head up|oversee|look after|do|direct|coordinate|supervise"
        r"|write|build|design|teach|consult|drive|fly|cook|code|sell|model|drive trucks)"
        r"(?: (?!for\b|at\b)[\w&' -]{2,40}?)? (?:for|at|over at) (?P<org>(?:the )?(?-i:[A-Z]).*)",
        _duty,
    ),
    rule(rf"{I_AM}(?P<how>in charge of|responsible for|heading up|leading) (?P<x>(?!to\b|for\b|up to\b)\S.*)", _charge),
    rule(
        r"I (?P<x>[a-z]+ [\w' -]{2,40}?|[a-z]+) (?:for a living|professionally|by profession|as a job|as my day job"
        r"|for my day job)\b",
        _living,
    ),
    rule(
        rf"{MY} (?:current |day |new |main )?(?:role|job|work|gig)(?:'s| is| involves|:)(?: mostly| mainly)? "
        r"(?P<x>(?!going|killing|getting|being|driving me|stressing|making me|fine)[a-z]+ing \S.*)",
        _job_doing,
    ),
    rule(
        rf"{MY} (?:current |new |day |latest )?(?:job|gig|position|role|contract|internship)(?:'s| is) "
        rf"(?:now )?(?:at|with"
        r"|for) (?P<x>\S.*)",
        _employed,
    ),
    rule(
        rf"{I_AM}(?:an? |in my )?(?:[\w-]+ ){{0,3}}?(?:student|candidate|undergrad|undergraduate|postgrad|postdoc"
        rf"|year)(?: (?:in|of|studying|reading) (?P<x>(?-i:[a-z])[\w &-]{{2,40}}?))?{_AT_SCHOOL}$",
        _student,
    ),
    rule(
        rf"(?:{I_AM}(?:doing|finishing|pursuing|completing|getting|working (?:on|towards)|enrolled in|reading for) "
        r"(?:an?|my) (?:[\w']+ )?|(?:I (?:hold|have|got|did|earned|finished)|I've (?:got )?) ?(?:an?|my) (?:[\w']+ )?"
        rf"|{MY} )(?:phd|ph\.d\.?|doctorate|master's|masters|master|bachelor's|bachelors|degree|ba|bsc"
        rf"|msc|mba|diploma|major)"
        rf"(?: degree)?(?: is|'s)? (?:in|of) (?P<x>[\w &-]{{2,40}}?){_AT_SCHOOL}$",
        _student,
    ),
    rule(
        rf"(?:{I_AM}(?:enrolled|a freshman|a sophomore|in (?:my )?\w+ year)|I study)(?P<x>) at "
        rf"(?P<school>\S.*)",
        _student,
    ),
    rule(rf"(?:{I_AM}reading|I read|I studied) (?P<x>[a-z][\w &]{{2,30}}?) at (?P<school>(?-i:[A-Z]).*)", _student),
    rule(
        r"(?:I'm |I am |this is |it's )(?:(?-i:[A-ZÀ-Þ])[\w'-]+ ){1,2}(?:from|in|over in) (?:the )?(?P<x>[a-z&]+)"
        r"(?:$|,| (?:here|at)\b)",
        _department,
    ),
    rule(rf"(?:{I_AM}|I work |I sit )(?:in|with) (?P<x>[a-z&]+)(?:$|,| (?:here )?at\b)", _department),
    rule(
        r"(?:I|we)(?:'ve| have)? (?:just |recently )*(?:left|quit) (?P<old>\S.*?) (?:for|to join|to work (?:at|for)"
        r"|to go to|and joined|and went to) (?:a (?:job|role|position) at )?(?P<x>(?-i:[A-Z]).*)",
        _left_for,
    ),
    rule(
        rf"{I_AM}(?:currently |now |still )*(?:at|with) (?P<x>(?-i:[A-Z])[\w&. -]*? (?:as|now|these days"
        rf"|since)\b.*)",
        _employed,
    ),
    rule(
        r"(?P<x>(?-i:[A-Z])[\w&.' -]{1,30}) is (?:my (?:current |new )?employer|where I work|who I work "
        r"for)\b",
        _employed,
    ),
    rule(
        rf"{I_AM}(?:currently )?(?:between jobs|job[- ]hunting)(?P<x>)",
        lambda match, seen: [Draft("role", "between jobs", GUESS)],
    ),
    rule(
        r"I(?:'m| am) (?:an? |the )(?P<x>[\w -]{3,40}?) (?:here )?(?:at|for|with) (?:an? |the )?"
        r"(?:[a-z][\w-]* )+",
        _job_title,
    ),
)
