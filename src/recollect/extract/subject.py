"""The writer put back as the subject: "Been a nurse since 2010", "me and my wife have …", "our team tracks …".

People leave out the "I", speak for their team or say what they are in a row of scraps; the rules read plain
first-person statements, so those are restored here.
"""

from __future__ import annotations

import re

# A gerund may also be a subject ("Learning Spanish is hard"): then it is no scrap of a statement.
_NO_VERB = (
    r"(?![^,;]*\b(?:is|are|was|were|can|could|will|would|should|takes?|makes?|helps?|requires?|has"
    r"|seems?|sounds?|looks?"
    r"|feels?|needs?|means|gives?|costs?)\b)"
)
_FREQUENCY = r"(?:(?:currently|now|still|mostly|mainly|originally|also|presently|just|recently|finally|only|happily) )"
_ELIDED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.I), subject)
    for pattern, subject in (
        (r"^(?=(?:also |both )?been (?:\w+ing\b|an?\b|in\b|on\b|with\b|at\b|vegan|vegetarian|married|using))", "I've "),
        (
            rf"^(?={_FREQUENCY}*(?:moved|relocated|switched|migrated|joined|graduated|adopted|turned \d|became|bought"
            r"|started (?:a|as|at|my|working|using|learning)|grew up|ditched|swapped|stopped using"
            r"|got (?:an?|my|married"
            r"|engaged|promoted|hired|divorced)|retired (?:from|in|last))\b)",
            "I ",
        ),
        (r"^(?=(?:born|raised) (?:and (?:raised|bred) )?(?:in |on |\d))", "I was "),
        (
            r"^(?=got (?:two|three|four|five|six|\d+) (?:\w+ )?(?:kids|children|sons|daughters|dogs|cats"
            r"|sisters|brothers)\b)",
            "I've ",
        ),
        (r"^(?=running .* (?:here|in production|at work|at home)\W*$)", "I'm "),
        (r"^(?=(?:writing|calling|joining|messaging|chatting|logging in)(?: to you| in)* from )", "I'm "),
        (rf"^(?={_FREQUENCY}*(?:staying|living) (?:with|at) .* in [A-Z])", "I'm "),
        (
            rf"^(?={_FREQUENCY}*(?:living|based|residing|located|employed|working (?:as|at|for|in|with|on my|remotely)"
            r"|studying (?!\d)|learning|teaching (?!is)|married to|engaged to|allergic to|fluent in|due in"
            rf"|turning \d|training for|saving (?:up )?for)\b){_NO_VERB}",
            "I'm ",
        ),
        (
            rf"^(?=(?:currently|still|now|mostly|already) using\b|using (?:an? |my )(?-i:[A-Z]|\w+[A-Z])"
            rf"(?!.*,)){_NO_VERB}",
            "I'm ",
        ),
        (
            rf"^(?=originally from|(?:a )?(?:huge|big|massive|lifelong|not a) (?:\w+ )?fan\b|not (?:really )?into\b"
            rf"|(?:mother|father|mum|mom|dad|parent) (?:of|to) (?:\d|one|two|three|four|five)\b){_NO_VERB}",
            "I'm ",
        ),
        (
            r"^(?=(?:also |currently |still )?(?:live (?:in|near|on|just) |reside in |work (?:(?:at|for) [A-Z]|as an? )"
            r"|(?:really |absolutely |just )?(?:love|hate|adore|can't stand|don't (?:really |usually "
            r"|even )?(?:like|eat|drink)|prefer)"
            r"(?: to)? (?!you|your|it\b|this|that|the |and |or |is |having you|seeing)(?!.*\b(?:is|are"
            r"|was|should|will|can|would|could|has|have)\b)"
            r"|have (?:two|three|four|five|six|\d+) (?:\w+ )?(?:kids|children|sons|daughters|dogs|cats"
            r"|sisters|brothers)))",
            "I ",
        ),
    )
)
_JOINT = re.compile(
    r"^(?P<who>(?:me|myself) and (?:my |our )?[\w' -]{2,30}?|(?:my|our) [\w'-]+(?: [\w'-]+){0,2} and (?:I|me|myself)"
    r"|[A-Z]\w+ and I|(?:my|our) [\w'-]+(?: [A-Z]\w+)?, and I)"
    r",? (?:(?:both|all|also|each|just|recently|are both) )*"
    r"(?=(?:have|live|are|were|got|moved|met|run|own|use|love|hate|like|speak|share|adopted|bought|work|just|recently"
    r"|started|enjoy|play|prefer|rent|keep|use|drive|married|relocated|can't|don't|'re|'ve)\b)",
    re.I,
)
_US = re.compile(
    r"^(?:(?:everyone|everybody|all|most of us|most people) (?:on|in|at) )?(?:my|our|the (?:whole"
    r"|entire))(?: (?!favou?rite)[\w-]+){0,2}? "
    r"(?:team|company|startup|start-up|org|organi[sz]ation|department|firm|agency|lab|group|squad"
    r"|studio|office|employer"
    r"|business|shop|crew|engineers|developers|devs|designers|analysts|marketers|admins|testers"
    r"|editors|people|folks|guys|team members) (?P<adverb>(?:all|mostly|mainly|currently|now|also|just"
    r"|recently"
    r"|still|has|have) )*"
    r"(?P<verb>use|uses|run|runs|track|tracks|deploy|deploys|host|hosts|rely|relies|write|writes|manage|manages|store"
    r"|stores|keep|keeps|build|builds|code|codes|communicate|communicates|switched|migrated|adopted|standardi[sz]ed"
    r"|chat|chats|ship|ships|plan|plans|document|documents|monitor|monitors|organi[sz]es?|develop|develops|works in"
    r"|works with|prefers?|swears? by|depends? on|lives? (?:in|on)|settled on|went with)\b(?! from)",
    re.I,
)
_PLAIN_VERB = re.compile(r"(?<=[a-z])(?:ies|s)\b")
_HERE = re.compile(
    r"^(?P<x>(?!same|right|up|down|over|in|not|nothing|everyone|look|come|stay|you|it|he|she|they|we"
    r"|what|that|this|there)"
    r"[\w-]+(?: (?!is|are|was|i'm|i|you|we|been|to|me|from|out|down|over|up|right|in|not)[\w-]+){0,3}?) here"
    r"(?=$|[,.!;:]| -| –| —| \()",
    re.I,
)
_COPULA = re.compile(
    r"^I(?:'d| would)? (?:(?:happen to be|(?:would |'d )?(?:describe|call|consider) myself(?: as| to be)?|identify as"
    r"|qualify as|count as|am known as|remain|'ve always been|have always been|was always|ended up (?:as|being)"
    r"|(?:'m|am) what you(?:'d| would| might) call)) (?=an?\b|the\b|\w)",
    re.I,
)
_HAPPEN = re.compile(
    r"^(I|we) (?:happen to|do|actually|get to|currently do|can say I|can say we) (?=(?:live|work|have"
    r"|own|use)\b)",
    re.I,
)
_MY_TOO = re.compile(
    r"^(?:the |and (?:the )?)?(?P<x>(?:(?:phone|mobile|cell|work|home|first|last|e-?mail) )?(?:number|phone|mobile|cell"
    r"|e-?mail(?: address)?|name|surname|address|birthday|age|role|title|time ?zone|location|employer|pronouns|height"
    r"|weight|nickname|handle|username|postcode|wife|husband|boss|manager)(?:'s| is| are)\b)",
    re.I,
)
_INTRODUCED = re.compile(
    r"^(?:(?:I'm|I am) (?:(?-i:[A-ZÀ-Þ])[\w'-]|(?:currently )?(?:living|based|from|working|studying"
    r"|married) |an? the |[\w']+,|\d)|my name(?:'s| is)|(?:the )?name(?:'s| is)|(?:this is|it's) "
    r"(?-i:[A-Z])|call me|I work as|I live in|I was born)",
    re.I,
)
# Only behind a name or a trade is a bare noun a trade: "I'm Jonas, welder".
_NAMED = re.compile(
    r"^(?:I'm|I am|call me|this is|it's) (?:(?-i:[A-ZÀ-Þ])|an? |[\w']+,|\d)|^(?:my |the )?name(?:'s| "
    r"is)",
    re.I,
)
_SCRAPS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.I), sentence)
    for pattern, sentence in (
        (r"((?:she|he|they|ze|xe)/\w+(?:/\w+)?)", r"my pronouns are \1"),
        (r"(?:about |around )?(\d{2,3} ?(?:kg|kilos|lbs?|pounds|cm))", r"I'm \1"),
        (r"(?:age[d:]? )?(\d{2})(?: years? old| years? of age| ?yo| ?y/o)?$", r"I'm \1 years old"),
        (
            r"((?:originally |currently |now |born |recently )*(?:from (?=(?-i:[A-ZÀ-Þ])|[^\W\d_]+$)"
            r"|based|living|working|residing|located|studying"
            r"|employed|married|single|divorced|retired|starting (?:out )?as|vegan|vegetarian"
            r"|allergic to|fluent in|into"
            r"|in (?-i:[A-Z])).*)",
            r"I'm \1",
        ),
        (r"((?:born|raised)(?: and raised)? (?:in|on) .*)", r"I was \1"),
        (r"((?:now|currently|these days)(?: living| based)? in (?-i:[A-Z]).*)", r"I'm \1"),
        (r"((?:just |recently )*(?:moved|relocated) (?:back )?to .*)", r"I \1"),
        (r"((?:mother|father|mum|mom|dad|parent) (?:of|to) .*)", r"I'm a \1"),
        (r"(?:and )?((?:also |currently |now )?an? (?!lot|bit|few|while).*)", r"I'm \1"),
        (
            r"((?!\w+ing\b|not\b|no\b|so\b|but\b|and\b|too\b)(?:(?-i:[a-z])[\w/-]+ ){0,3}"
            r"(?-i:[a-z])[\w/-]+(?: (?:at|for|in|from|with) (?-i:[A-Z]).*)?)$",
            r"I'm a \1",
        ),
    )
)
_REDUCED = re.compile(
    r"^(?:I'm|I am|I've been|I work as) (?:an?|the) (?:(?!\b(?:of|with|who|for|to|whose|from|about|not"
    r"|in|on|at|\w+ing)\b)[\w'-]+ ){1,5}?"
    r"(?P<x>(?:currently |now |originally )?(?:living|based|residing|located|working|studying|employed"
    r"|born|from|out of)"
    r" (?:in|at|for|as|near|by|out of|(?-i:[A-Z])).*)",
    re.I,
)


_SOMEONE = re.compile(
    r"^(?:as|being|speaking as) (?:someone|somebody|a person|one of those people) (?:who(?:'s| is| "
    r"has)? |that )?(?P<x>(?:lives?|works?|uses?|loves?|hates?|owns?|has|grew up|was born|is|runs|from"
    r"|plays|teaches|speaks|drives|suffers from|prefers|in|with)\b[^,]*),?",
    re.I,
)
_PARTICIPLE = re.compile(
    r"^(?P<verb>having (?:grown up|lived|worked|studied|moved|been born|been raised)|being (?=an?\b"
    r"|lactose|vegan|vegetarian|diabetic|deaf|blind|colou?r|left-handed|dyslexic|autistic|married"
    r"|single|retired|self-employed|based|from|(?-i:[A-Z])\w+(?:,| in\b))|living|working|coming from"
    r"|growing up) (?P<x>[^,]{3,60}), (?=(?:I|we|my|our)\b)",
    re.I,
)
_PARTICIPLES = {
    "having grown up": "I grew up",
    "having lived": "I've lived",
    "having worked": "I've worked",
    "having studied": "I studied",
    "having moved": "I moved",
    "having been born": "I was born",
    "having been raised": "I was raised",
    "being": "I'm",
    "living": "I'm living",
    "working": "I'm working",
    "coming from": "I come from",
    "growing up": "I grew up",
}
_APPOSED = re.compile(
    r"^(?P<name>(?-i:[A-ZÀ-Þ])[\w'-]+(?: (?-i:[A-ZÀ-Þ])[\w'-]+)?), (?P<own>my|our) (?P<who>[\w' -]{2,30}?),(?= )", re.I
)
_CLEFT = re.compile(
    r"^(?:(?:the|a) [\w'-]+(?: [\w'-]+){0,2}?(?: that| which| who| where)?|what|where|who|the place where)"
    r" (?P<who>I'm|I|we|we're) (?P<verb>[\w' -]{2,40}?)(?: is|'s) (?:now |currently |mostly |usually "
    r"|actually )*(?P<x>(?!that|because|why|how|not)\S.*)",
    re.I,
)
_QUANTIFIED = re.compile(r"^(?:all|most|both|half|the rest|much|many|a lot)(?: of)? (?=(?:my|our) )", re.I)
_FORM = re.compile(
    r"^(?P<label>(?:full |first |last )?name|surname|nickname|pronouns|age|role|job(?: title)?"
    r"|occupation|profession|employer"
    r"|company|location|city|hometown|country|address|e-?mail|phone(?: number)?|mobile|time ?zone"
    r"|birthday|date of birth|dob|diet"
    r"|height|weight|native language|favou?rite [\w ]{2,20}|editor|shell|browser|os|budget|team)\s?"
    r"(?::|=|\s[-–—]\s)\s?(?P<x>\S.*)",
    re.I,
)
_MYSELF = re.compile(
    r"^(?:(?:I should|let me|allow me to|I'd like to|I want to|time to|I'll|quickly|first,?) )*"
    r"(?:quickly )?introduce myself[,:;.!–—-]*\s+(?=\S)"
    r"|^(?:(?:a )?(?:quick|short|brief) )?(?:intro|introduction|about me)(?: time)?[:;–—-]+\s*(?=(?:I"
    r"|my|name|the name|call)\b)",
    re.I,
)
_SIGNED = re.compile(
    r"^(?:signed|sincerely|yours(?: truly| sincerely| faithfully)?|(?:kind |best |warm |many )?regards"
    r"|best wishes|all the best|yours)[,:]?\s+"
    r"(?P<x>(?-i:[A-ZÀ-Þ])[\w'-]+(?: (?-i:[A-ZÀ-Þ])[\w'-]+)?)$",
    re.I,
)
_SETTING = re.compile(
    r"^(?:since|as of|in|on|at|for|during|after|before|by|until|(?:these|this|last|next|past)(?= "
    r"(?:days?|weeks?|months?|years?|mornings?|evenings?|afternoon|night|weekend|summer|winter|spring"
    r"|autumn|fall|semester|quarter|time|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|january|february|march|april|may|june|july|august|september|october|november|december)\b)|back "
    r"in|ever "
    r"since|over|throughout|around"
    r"|outside|apart from|besides|aside from|other than|when it comes to|regarding|as to|thanks to|due to) "
    r"(?!(?:mon|tues|wednes|thurs|fri|satur|sun|week)days|weekends|mornings|evenings)[\w' -]{2,45}?,? "
    r"(?=(?:I|we|my|our)(?:'m|'ve|'re)?\b(?! and\b))(?!.*\?)",
    re.I,
)
_TAIL = re.compile(
    r",?\s*(?:,|-|–|—)\s*(?:no contest|hands down|by far|for sure|no question(?: about it)?|no doubt"
    r"|believe it or not|to be (?:honest|fair|exact|precise|clear)"
    r"|if (?:that|it) (?:helps|matters)|just so you know|so you know|by the way|btw|fyi|for the record"
    r"|for what it's worth|full stop|period|obviously"
    r"|of course|clearly|unfortunately|sadly|luckily|thankfully|honestly|tbh|lol|haha|actually|you "
    r"know|I think|I guess|I suppose|I believe"
    r"|as (?:I|you) (?:said|mentioned|know|may know)|in case (?:it|that) (?:helps|matters)|in case you"
    r"(?:'re| are| were)? (?:wondering|wonder|need it|curious)"
    r"|nothing fancy|like everyone|weirdly|oddly|surprisingly|go figure|sorry|thanks|thank you|please"
    r"|cheers|ok(?:ay)?|though|too|as well|either)\s*$",
    re.I,
)


def unset(text: str) -> str:
    """A statement without the time or circumstance put before it: "since last year I've been …"."""
    return _SETTING.sub("", text)


def untailed(text: str) -> str:
    """A statement without what people hang behind it: "…, no contest", "…, believe it or not"."""
    for _ in range(2):
        if "," not in text and "-" not in text and "–" not in text and "—" not in text:
            break
        text = _TAIL.sub("", text)
    return text


def _reworded(text: str) -> str:
    """Forms, clefts, quantifiers and settings turned into a plain statement."""
    text = _QUANTIFIED.sub("", text)
    form = _FORM.match(text)
    if form:
        return f"my {form['label'].lower()} is {form['x']}"
    signed = _SIGNED.match(text)
    if signed:
        return f"I'm {signed['x']}"
    cleft = _CLEFT.match(text)
    if cleft:
        return f"{cleft['who']} {cleft['verb']} {cleft['x']}"
    return text


_SMALL_NAME = re.compile(
    r"^((?:my|our) [a-z]+) (?!friend|sister|brother|partner|wife|husband|mate|son|daughter|family|team"
    r"|dog|cat)([a-z]+)$"
)


def restore(text: str) -> list[str]:
    """The start of a sentence as first-person statements: one, or two where a person beside the writer is named."""
    myself = _MYSELF.match(text)
    if myself:
        text = text[myself.end() :]
        text = text if re.match(r"(?:I|my|name|the name|call|this)\b", text, re.I) else f"I'm {text}"
    apposed = _APPOSED.match(text)
    if apposed:
        return [f"{apposed['own']} {apposed['who']} is {apposed['name']}"]
    spoken = _PARTICIPLE.match(text)
    if spoken:
        return [f"{_PARTICIPLES[spoken['verb'].lower().strip()]} {spoken['x']}", text[spoken.end() :]]
    someone = _SOMEONE.match(text)
    if someone:
        said = _FINITE.sub(
            lambda found: _FIRST_PERSON.get(found[0].lower(), _PLAIN_VERB.sub(_base, found[0])), someone["x"], count=1
        )
        return [f"I {said}" if not said.startswith("'m") else f"I{said}", text[someone.end() :].strip()]
    text = _reworded(_SETTING.sub("", text))
    joint = _JOINT.match(text)
    if joint:
        who = re.sub(r"^(?:me|myself) and |,? and (?:I|me|myself)$", "", joint["who"], flags=re.I)
        who = _SMALL_NAME.sub(r"\1 is called \2", who)
        return [f"we {text[joint.end() :]}".replace("we '", "we'"), who]
    us = _US.match(text)
    if us:
        return [f"we {us['adverb'] or ''}{_PLAIN_VERB.sub(_base, us['verb'])}{text[us.end() :]}"]
    here = _HERE.match(text)
    if (here and here["x"].islower()) or (here and " " in here["x"]):
        return [text, f"I'm a {here['x'][0].lower()}{here['x'][1:]}{text[here.end() :]}"]
    for pattern, subject in _ELIDED:
        if pattern.match(text):
            return [f"{subject}{text[0].lower()}{text[1:]}"]
    return [_HAPPEN.sub(r"\1 ", _COPULA.sub("I'm ", text))]


_FINITE = re.compile(r"^\w+", re.I)
_FIRST_PERSON = {
    "is": "'m",
    "has": "have",
    "was": "was",
    "grew": "grew",
    "from": "'m from",
    "in": "'m in",
    "with": "have",
    "teaches": "teach",
}


def _base(match: re.Match[str]) -> str:
    return "y" if match[0] == "ies" else ""


_COMMAS = re.compile(r",\s*(?:and\s+)?|\s+and (?=(?:about |around )?\d)")


def scraps(piece: str) -> list[str]:
    """What follows in a row of scraps ("I'm Jonas, 27, from Malmö") or in a shortened clause, as statements."""
    out: list[str] = []
    piece = piece.rstrip(" .!")
    if _INTRODUCED.match(piece):
        patterns = _SCRAPS if _NAMED.match(piece) else _SCRAPS[:-1]
        for part in _COMMAS.split(piece)[1:5]:
            out += next((pattern.sub(said, part) for pattern, said in patterns if pattern.fullmatch(part)), "").split(
                "\n"
            )
    out += [f"I'm {reduced['x']}" for said in [piece, *out] if (reduced := _REDUCED.match(said))]
    return [piece, *(item for item in out if item)]


_OWNED = re.compile(r"(?:my|our|I'm|I am|name)\b", re.I)


def with_owner(piece: str, before: str) -> str:
    """A piece that leaves "my" to the one before it: "my email is …, number is …"."""
    if _OWNED.match(before):
        return _MY_TOO.sub(r"my \g<x>", piece)
    return piece


_ADVERB = (
    r"(?:currently|now|still|also|just|actually|really|mostly|mainly|primarily|usually|typically"
    r"|generally|absolutely|totally"
    r"|definitely|truly|personally|always|only|officially|originally|already|basically|recently"
    r"|finally|strictly|severely|very"
    r"|quite|pretty|so|both|honestly|kind of|sort of|sometimes|often|normally|simply|presently|lately"
    r"|newly|happily|proudly"
    r"|essentially|technically|nowadays|each|all|super|genuinely|regularly|roughly|approximately|"
    r"(?:about|around)(?= \d)|mildly|deathly|secretly|completely|fully|permanently"
    r"|temporarily|exclusively|predominantly|largely|increasingly|do(?= (?:like|love|have|enjoy|use"
    r"|work|live|speak|own|prefer|hate)\b))"
)
_PLAINLY = re.compile(
    rf"^(?P<who>(?:I|we)(?:'m|'ve|'re| am| are| have|'ve been| have been)?|(?:my|our) (?:[\w'-]+ "
    rf"){{1,3}}?(?:is|are)|it's|it is)"
    rf"(?: {_ADVERB}(?=[ ]))+ ",
    re.I,
)


def plainly(clause: str) -> str:
    """A clause without the adverbs that only colour it: "I'm currently based in …"."""
    return _PLAINLY.sub(r"\g<who> ", clause, count=1)
