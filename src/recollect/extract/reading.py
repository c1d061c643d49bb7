"""From a message to the clauses in which its writer states something.

What is quoted, pasted, asked, supposed, wished or said by somebody else is taken out here, so that the rules
only ever see statements.
"""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from .subject import restore, scraps, unset, untailed, with_owner

MAX_TEXT = 20_000
"""What follows in a longer message is pasted matter, not talk."""
MAX_SENTENCE = 600
MAX_CLAUSES = 400
"""Nobody states more of themselves in one message; it bounds the work on hostile text."""


class Clause(msgspec.Struct, frozen=True):
    """One statement: cleaned text, the sentence it stands in, and where that sentence is in the message."""

    text: str
    sentence: str
    span: tuple[int, int]
    correction: bool = False
    full: str = ""
    """The clause with its "not Berlin" still on."""
    rejected: str | None = None
    """What the writer says it is not: "Munich, not Berlin"."""
    before: str = ""
    """The sentence before, for what refers back: "You misspelled my name. It's Catriona."."""
    remember: bool = False
    """The writer asked to have it remembered, so it is kept even where no rule reads it."""
    scrap: bool = False
    """Restored from a scrap behind a comma, so it is no sentence of its own."""
    meant: bool = False
    """It was put as what the writer meant, so it corrects even where nothing is known."""


_FENCES = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]{0,500}`", re.S)
_QUOTED_LINES = re.compile(r"^[ \t]*(?:>|On .{0,80} wrote:|-{3,}|={3,}|From: |Sent: |To: |Subject: ).*$", re.M)
_JSON = re.compile(r"^[ \t]*[{\[,]*[ \t]*\"[\w -]{1,40}\"[ \t]*:.*$", re.M)
_TAGGED = re.compile(
    r"<([a-zA-Z][\w:-]{0,40})\b[^<>]{0,200}>.*?(?:</\1\s*>|\Z)|<[^<>\n]{1,200}>|\[/?[A-Z_]{3,}\]", re.S
)
_QUOTES = re.compile(
    r"\"([^\"\n]{0,600})\"|“([^”\n]{0,600})”|«([^»\n]{0,600})»|(?<![\w])['‘]([^'’\n]{4,600})['’](?!\w)"
)
_PASTED = re.compile(
    r"\b(?:here(?:'s| is| are)|this is|see|below is|following|forwarded|pasted?|attached|translate|rewrite"
    r"|rephrase|paraphrase"
    r"|proofread|summari[sz]e|shorten|edit|improve|polish|correct|fix|check|analy[sz]e|classify|extract|parse|convert"
    r"|draft|write|compose|generate|prompt|example|template|transcript|lyrics|log|output|error message|says|said|wrote"
    r"|reads|sentence|text|email|message|quote|essay|bio|review|tweet|post)\b[^.!?\n:]{0,80}:(?=\s)",
    re.I,
)
# "Let me correct that: …" and "I should have said: …" announce the user's own words.
_OWN_WORDS = re.compile(r"\b(?:let me|i (?:should have|already|just|have|must))\s+$", re.I)
_SPEAKER = re.compile(
    r"^[ \t]*(?!My\b|Note|Fyi|Correction|Update|Context|Ps|Edit|Me\b|I\b|Background|Question|Reminder"
    r"|Remember|Important"
    r"|Btw|Preference|About|Also|Actually|Sorry|And|But|So|Hi|Hey|Hello|Thanks|Ok)"
    r"(?!(?:(?:Full |First |Last )?Name|Surname|Nickname|Pronouns|Age|Role|Job|Occupation|Profession"
    r"|Employer|Company|Location|City"
    r"|Hometown|Country|Address|E-?mail|Phone|Mobile|Time ?[Zz]one|Birthday|DOB|Diet|Height|Weight)\b)"
    r"[A-Z][\w.'-]{1,20}(?: [A-Z][\w.'-]{1,20}){0,2}: .*$",
    re.M,
)
_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?!\s|$|[\"')\]])[^.!?\n]*)*(?:[.!?]+[\"')\]]*|\n|$)")
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:Dr|Mr|Mrs|Ms|Prof|St|Mt|vs|etc|approx|Jr|Sr|No|e\.g|i\.e|a\.k\.a|[A-Z])\.$")

_QUESTION_START = re.compile(
    r"^(?:and |but |so |ok(?:ay)?,? |hey,? |hi,? |hello,? )*(?:what|where|when|who|whom|whose|which|why|how|do"
    r"|does|did|is|are|am"
    r"|was|were|will|would|can|could|should|shall|may|might|must|has|have|had|isn't|aren't|don't|doesn't|didn't|wasn't"
    r"|won't|wouldn't|can't|couldn't|shouldn't|haven't|hasn't|what's|where's|who's|how's|when's) "
    r"(?!ever\b|not ever\b|worry)",
    re.I,
)
# "have" and "don't" also open statements and orders; only an inverted subject makes them questions.
# What is corrected is the writer's: "typo: the email is …".
_THE_OWN = re.compile(
    r"^the ((?:correct |right )?(?:e-?mail(?: address)?|number|phone number|name|address|budget|age"
    r"|birthday)(?:'s| is)\b)",
    re.I,
)
_ASKED_FOR_GOOD = re.compile(
    r"^(?:please )?(?:can|could|would|will) you (?:please )?(?=(?:always|never|from now on|in (?:the )?future)\b)", re.I
)
_INVERTED = re.compile(
    r"^(?:and |but |so )*(?:have|had|has|don't|do|did|may|might|must|will|shall|was|were|is|are|am|can|could"
    r"|would|should"
    r"|\w+n't)\s+(?:i|you|we|my|your|our|it|he|she|they|there|this|that|the|a|an|any|some|these|those|[a-z]+)\b",
    re.I,
)
_ORDER_START = re.compile(
    r"^(?:please )?(?:don't|do not|do) (?!i\b|you\b|we\b|they\b|he\b|she\b|it\b|my\b|your\b|the\b)", re.I
)
_SUPPOSED = re.compile(
    r"^(?:ok(?:ay)?,? |so,? |and |but |now,? |please )*(?:if|suppose|supposing|imagine|imagining|pretend"
    r"|pretending|assume|assuming"
    r"|let's (?:say|assume|pretend|imagine|suppose)|let us (?:say|assume)|say (?:i|my|we)\b|what if"
    r"|hypothetically|act (?:as|like)"
    r"|role-?play|unless|whether|as if|as though|had i|were i|in (?:my|the|this|a|our|that) (?:dream|story"
    r"|role-?play|game|novel"
    r"|scene|movie|film|book|play|fantasy|scenario|example|simulation|skit)|once upon|(?:my|the) character|in character"
    r"|(?:write|tell|draft|compose|create|generate|make|give|invent|sing|continue|finish|complete|translate"
    r"|rewrite|rephrase"
    r"|paraphrase|proofread|say|type|print|repeat|echo|read)\b(?! me (?:always|never))(?!.*\b(?:from now on"
    r"|going forward)\b)(?! in (?:\w+ )?\w+[.!]*$))",
    re.I,
)
_UNSURE = re.compile(
    r"\b(?:i|we)(?:'d(?! (?:always |much |still )?(?:pick|choose|take) .* (?:over|any day)\b)| would| "
    r"could| might| may| wish| hope| want(?:ed)? to| wanna| plan to| dream| should"
    r"| guess| wonder| doubt| suspect"
    r"| tried| try| used to| was (?:going|about|supposed|thinking|wondering)| were going| am supposed| imagine"
    r"| pretend)\b"
    r"|\b(?:maybe|perhaps|possibly|supposedly|allegedly|hypothetically|theoretically|kidding|joking|as if"
    r"|as though|like i'm"
    r"|thinking (?:of|about)|considering|what if|wondering|pretending|in theory|if i|if we|if my|would be"
    r"|might be|could be"
    r"|would've|not sure|no idea|don't know|feel like|feels like)\b",
    re.I,
)
# Whatever follows in the sentence is only an idea.
_MUSING = re.compile(
    r"\b(?:thinking maybe|i(?:'m| am) (?:picturing|imagining|fantasi[sz]ing|daydreaming)|in an ideal "
    r"world|in another life|in a perfect world)\b",
    re.I,
)
_SAYING = (
    r"(?:said|says|say|told|tells|think|thinks|thought|believes?|believed|claims?|claimed|wrote|writes|asked"
    r"|asks|jokes?|joked|insists?"
    r"|insisted|calls? me a|assumes?|assumed|reckons?|reported|mentioned|announced|replied|answered|suggests?|suggested"
    r"|keeps? saying|keeps? telling|imagines?|pretends?|argues?|wants?|wishes|hopes|dreams?)"
)
_REPORTED = re.compile(
    r"^(?:and |but |so |because |according to )?(?:he|she|they|it|you|people|someone|somebody|everyone"
    r"|everybody|nobody|no one"
    r"|one of|the|this|that|a|an|some|many|most|(?:my|our|his|her|their|your) [\w'-]+(?: [\w'-]+)?"
    r"|[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)"
    rf"(?:'s| has| have| had| just| once| always| often| also| recently| really)* {_SAYING}\b|^according to\b",
    re.I,
)
_OWN_SAYING = re.compile(
    r"^(?:as )?(?:i|we)(?:'ve| have)?(?: already| just| once)? (?:told you|said|mentioned|should (?:mention|add"
    r"|note|say)|can (?:tell|confirm)(?: you)?"
    r"|must (?:say|admit|confess)|have to (?:say|admit)|wanted to (?:mention|say|tell you)|confirm|admit|confess)"
    r"(?: before| earlier| above)?(?: that|,)? (?=(?:i|my|we|our)\b)",
    re.I,
)
_OPENING = re.compile(
    r"^(?!(?:hi|hey|hello|greetings) from [A-Z])(?:(?:(?:hi|hey|hello)(?: there| all| everyone| team| "
    r"again)?|hiya|by (?:profession|trade)"
    r"|professionally|typo|good (?:morning|afternoon|evening|day)|greetings|dear [a-z]+|ok(?:ay)?|well|so|oh|ah"
    r"|um|uh|hmm+|yes|yeah|yep|yup|sure"
    r"|right|great|thanks(?: a lot| so much)?|thank you(?: so much)?|cool|btw|by the way|fyi"
    r"|for your information|just fyi|for (?:context|reference|the record)"
    r"|some (?:context|background)|a bit of (?:context|background)|background|context|note|honestly|frankly"
    r"|personally|basically|also|and|but|plus|because|since(?= (?:i|i'm|i've|we|my|our|you|it|he|she"
    r"|they|the|this|that)\b)"
    r"|though|although|anyway|besides|oh and|as for me|about me|in case (?:it matters|you(?:'re)? (?:need"
    r"|wonder(?:ing)?)[^,]{0,20})"
    r"|just so you know|so you know|just to (?:let you know|be clear|clarify)|to be (?:clear|honest|fair)|tbh"
    r"|as you know|you (?:should|might want to) know"
    r"|(?:please )?(?:remember|note|keep in mind|bear in mind|be aware|know|save|store|memori[sz]e)(?: this"
    r"| that|:)?(?= (?:i|i'm|my|we|our|that|the)\b)"
    r"|don't forget(?: that)?|it turns out(?: that)?|turns out|the (?:thing|fact|truth) is(?: that)?|good news"
    r"|bad news|update|quick (?:update|note)"
    r"|for what it's worth|fwiw|in fact|of course|obviously|at work|at home|these days|nowadays|currently"
    r"|right now|at the moment|at present"
    r"|as of (?:today|now|this week)|today|recently|lately|luckily|fortunately|unfortunately|sadly|finally"
    r"|first(?: of all)?|second(?:ly)?|lastly|officially)"
    r"(?:[,:;!.]+\s*|\s+[-–—]+\s*|\s+))+(?=\S)",
    re.I,
)
_CORRECTION = re.compile(
    r"^(?:(?:no|nope|sorry|oops|whoops|wait|hold on|hang on|my bad|my mistake|apologies|ah|oh|hmm|well|um|and"
    r"|but|so|ok)[,.!;:—–-]*\s+)*"
    r"(?:actually|(?:(?:small|minor|quick|slight|one|another) )?correction|scratch that|strike that"
    r"|make (?:that|it)|(?:not|I said|I wrote) [^,;.]{1,40}?(?: by mistake| by accident)|to correct "
    r"(?:myself|that|you)|let me correct (?:myself"
    r"|that)|i (?:meant|mean|said|should have said)(?: to say)?"
    r"|i misspoke|that's (?:wrong|not right|incorrect|not correct)|that is (?:wrong|incorrect)|you(?:'re"
    r"| are) wrong|(?:you|i) got (?:that|it|my \w+) wrong"
    r"|not quite|rather|or rather|i was (?:wrong|mistaken)(?: about (?:that|the \w+|my \w+))?|wrong|no"
    r"|nope|sorry|wait|oops)"
    r"(?:[,.!;:—–-]+\s*|\s+(?=(?:i|i'm|my|we|our|it's|it|the|that|make)\b))(?:(?:i (?:meant|mean"
    r"|said)(?: to say)?(?: that)?|it's actually|actually|make (?:that|it)|that)[,:]?\s+)?|"
    r"^(?:(?:no|nope|sorry|oops|wait)[,.!;:—–-]*\s+)+i (?:meant|mean|said)(?: to say)?(?: that)?[,:]?\s+"
    r"|^i meant(?! by\b)(?: to say)?(?: that)?[,:]?\s+"
    r"|^not (?:the )?(?-i:[A-Z0-9])[\w:%$€£.-]*(?: \w+)?[,;—–-]+\s+(?:but )?(?=(?:on |at |in |the )?"
    r"(?-i:[A-Z0-9$€£])\S*(?: \S+)?$)"
    r"|^(?:(?:no|sorry|oops|wait|hold on)[,.!;:—–-]*\s+)*i (?:said|wrote|typed|put|told you) "
    r"[^,;.]{1,40}?,? (?:but|and|when)"
    r" (?:i )?(?:meant|actually meant|should have said|it's actually|it should be)(?: to say)? ",
    re.I,
)
_MEANT = re.compile(
    r"\bI (?:really |actually )?(?:meant|should have said)\b(?! by)|\b(?:no|sorry|wait|oops)\b.*\bI "
    r"mean\b|\bmake (?:that|it)\b|\bby mistake\b|\bcorrection\b|\bscratch that\b|\bmisspoke\b"
    r"|^not (?-i:[A-Z0-9])\S*[,;—–-]|\bgot (?:that|it) wrong\b|\bmy mistake\b",
    re.I,
)
_REPAIR = re.compile(
    r"(?:,|;|\.\.\.|…|\s[-–—]+)\s*(?:(?:no|sorry|wait|oops|er|err|um|uh|hmm)[,.]?\s+)*(?:i (?:mean"
    r"|meant)(?: to say)?|scratch that|correction|make (?:that|it)"
    r"|or rather|actually|sorry|no wait|no(?=[,:]))[,:]?\s+",
    re.I,
)
_SUBJECT = (
    r"(?:i(?:'m|'ve|'d|'ll)?|my|home is|mine is|(?:the )?(?:(?:phone|mobile|cell|work|home) )?"
    r"(?:number|phone|mobile|cell|e-?mail|name|surname"
    r"|time ?zone|birthday|pronouns|nickname|username|address)(?:'s| is| are)|we(?:'re|'ve)?|our|it"
    r"(?:'s)?|its|you(?:'re|r)?|he(?:'s)?|she(?:'s)?"
    r"|they(?:'re)?|his|her|their|there(?:'s| is| are)?"
    r"|while|whenever|please|call me|can|could|would|will|do|does|did|is|are|what|where|how|who|whom|why|when"
    r"|which|whose|should|let's|don't|never|always"
    r"|everybody|(?:literally |nearly |almost )?everyone|nobody|no one|(?:most )?people|(?:my |all my "
    r")?(?:friends|mates|colleagues)|folks|that's|this|if|unless|so|as long as|from now on|officially"
    r"|not sure)"
)
_BOUNDARY = re.compile(
    r"(?:\s*[,;:]|\s+[-–—]+|\s*[()])\s*(?:(?:and|but|so|because|though|although|plus|or|since|as|yet|whereas"
    rf"|now|then|also)\s+)*(?={_SUBJECT}\b(?!/))"
    r"|\s+(?:and|but|so|because|though|although|whereas)\s+(?:(?:now|then|also|currently"
    rf"|officially)\s+)*(?={_SUBJECT}\b)|\s+(?=(?:while|when|whenever|if|unless|until)\s+(?:i|we|my|our)\b)"
    r"|,?\s+(?:and|but|so)\s+(?=(?:since|in|last|after|before|these|for|at|on|this|during|from|as of) "
    r"[\w' ]{2,25}?,? (?:i|we|my|our)\b)"
    r"|\s*;\s*|\s+[–—]\s+",
    re.I,
)
# A habit is one thing however many verbs it has: "I tend to relax more and take things easy".
_OWN_START = re.compile(
    r"(?:i|we|i'm|we're|i've|we've|i am|we are) (?!usually|typically|tend|always|often|normally"
    r"|generally|sometimes|never)\w",
    re.I,
)
_ELLIPSIS = re.compile(
    r",?\s+(?:and|but)\s+(?:(?:also|now|currently|mostly|usually|really|then|recently|just|still)\s+)*"
    r"(?=(?:live|work|weigh|grew up|moved|joined|was born|am|speak|have|drive|teach|manage|track|keep"
    r"|take|commute|volunteer|collect"
    r"|own|lead|rent|became|started|graduated|adopted|bought|relocated|settled|switched|deploy|host"
    r"|write|code|cook|bake|sing|swim|cycle|hike"
    r"|read|watch|wear|earn|pay|spend|wake up|go by|can't stand|don't (?:like|eat|drink)|support|share"
    r"|do(?= (?:all|most|my|the)\b)) "
    r"|(?:use|love|like|hate|play|study|enjoy|run|prefer|need) (?!in\b|of\b|for\b|schedule|life\b|load\b|theme)"
    r"|(?:living|based|working|studying|using|learning|married) (?:in|at|for|as|to|[A-Z])"
    r"|(?:married|allergic|engaged) to )",
    re.I,
)
_CONTRAST = re.compile(
    r"(?:,\s+(?:and |but )?(?:not|no)|\s+and not|,?\s+(?:instead of|rather than))\s+([^,;.]{1,60})$", re.I
)
# "at 3 not 2": without a comma only where something is being corrected.
_BARE_CONTRAST = re.compile(r"\s+not ([\w$€£%:.+-]+(?: [\w$€£%:.+-]+)?)$", re.I)
_TAG = re.compile(
    r",\s*(?:right|correct|yes|no|ok|okay|eh|huh|isn't it|aren't i|don't i|haven't i|do i|am i|you know)\s*\?+$", re.I
)


def clauses(text: str) -> list[Clause]:
    """The statements of a message, in order."""
    text = text[:MAX_TEXT]
    own = mask(text)
    out: list[Clause] = []
    before = ""
    for start, end in _sentences(own):
        out += _clauses_of(own[start:end], text[start:end], (start, end), before)
        before = own[start:end]
        if len(out) >= MAX_CLAUSES:
            break
    return out[:MAX_CLAUSES]


# What is not the writer's own, and the signs without which it cannot be there.
_FOREIGN = (
    (_FENCES, ("`", "~~~")),
    (_JSON, ('"',)),
    (_TAGGED, ("<", "[")),
    (_QUOTED_LINES, (">", ":", "---", "===")),
    (_SPEAKER, (": ",)),
)


def mask(text: str) -> str:
    """The text with quoted, fenced, tagged and pasted parts blanked out, length unchanged."""
    for pattern, signs in _FOREIGN:
        if any(sign in text for sign in signs):
            text = pattern.sub(lambda match: "\n" * len(match[0]), text)
    pasted = next(
        (
            found
            for found in (_PASTED.finditer(text) if ":" in text else ())
            if not _OWN_WORDS.search(text, max(0, found.start() - 40), found.start())
        ),
        None,
    )
    if pasted:
        text = text[: pasted.start()] + "\n" * (len(text) - pasted.start())
    return _QUOTES.sub(_unquote, text)


_TITLED = re.compile(r"\b(?:(?:my|our) [\w ]{2,25} (?:is|are)|called|named|titled)\s*$", re.I)


def _unquote(match: re.Match[str]) -> str:
    """A quoted word or two is a name, a few are a title after "my role is"; the rest is somebody's sentence."""
    inner = next(group for group in match.groups() if group is not None)
    short = 4 if _TITLED.search(match.string, max(0, match.start() - 60), match.start()) else 2
    if len(inner.split()) <= short and not inner.lower().startswith(("i ", "i'm", "my ", "call me")):
        return f" {inner} "
    return "\n" * len(match[0])


def _sentences(text: str) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    begin = 0
    for match in _SENTENCE.finditer(text):
        piece = text[begin : match.end()]
        if _ABBREVIATION.search(piece) and match.end() < len(text) and not piece.endswith("\n"):
            continue
        if piece.strip() and len(piece) <= MAX_SENTENCE:
            out.append((begin + len(piece) - len(piece.lstrip()), begin + len(piece.rstrip())))
        begin = match.end()
    return out


def _clauses_of(own: str, sentence: str, span: tuple[int, int], before: str) -> list[Clause]:
    whole = normalise(own)
    bare, correction, remember = opening(whole)
    asked = _ASKED_FOR_GOOD.match(bare)
    if asked:
        bare = bare[asked.end() :].rstrip(" ?")
    if correction:
        bare = _THE_OWN.sub(r"my \1", bare)
    if _is_question(bare) or _SUPPOSED.match(bare) or _REPORTED.match(bare) or _MUSING.search(bare):
        return []
    meant = correction and bool(_MEANT.search(whole[: len(whole) - len(bare)]))
    frame = Clause("", sentence, span, correction, before=before, remember=remember, meant=meant)
    return [clause for start in restore(bare) for clause in _statements(start, frame)]


def _statements(text: str, frame: Clause) -> list[Clause]:
    out: list[Clause | None] = []
    before = ""
    for piece, repaired in _pieces(text):
        if _REPORTED.match(piece) or _SUPPOSED.match(piece):
            break
        before = with_owner(unset(piece), before)
        first, *rest = scraps(before)
        out.append(_clause(first, replace(frame, correction=frame.correction or repaired)))
        plain = replace(frame, correction=False, meant=False, remember=False, scrap=True)
        out += [_clause(scrap, plain) for scrap in rest]
    return [clause for clause in out if clause is not None]


def _clause(piece: str, frame: Clause) -> Clause | None:
    rest, corrected, _ = opening(piece)
    meant = frame.meant or bool(corrected and _MEANT.search(piece[: len(piece) - len(rest)]))
    corrected = corrected or frame.correction
    rest = untailed(rest.strip(" ,;:.!()"))
    if not rest or rest.endswith("?") or (_asks(rest) and not _ORDER_START.match(rest)):
        return None
    contrast = _CONTRAST.search(rest) or (_BARE_CONTRAST.search(rest) if corrected else None)
    text = rest[: contrast.start()].strip(" ,") if contrast else rest
    if not text:
        return None
    return replace(
        frame,
        text=text,
        full=rest,
        correction=corrected,
        rejected=contrast[1].strip() if contrast else None,
        meant=meant and not text.startswith(("to ", "by ", "it ")),
    )


_MARKUP = re.compile(r"^[-*•]\s+|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
_APOSTROPHES = re.compile(r"\b(?:(im)|(i)ve|(do|does|did|is|are|was|ca|wo|have|has)nt|(can)not)\b", re.I)


_SHORTHAND = {
    "rly": "really",
    "gf": "girlfriend",
    "bf": "boyfriend",
    "bday": "birthday",
    "atm": "at the moment",
    "rn": "right now",
    "ppl": "people",
    "hubby": "husband",
    "fav": "favourite",
    "fave": "favourite",
    "abt": "about",
    "wanna": "want to",
    "gonna": "going to",
    "mgr": "manager",
}
_SHORT = re.compile(rf"(?<![\w@#./-])(?:{'|'.join(_SHORTHAND)})(?![\w@/-])")


def normalise(text: str) -> str:
    """Straight quotes, single spaces, and the apostrophes that people leave out."""
    text = " ".join(text.replace("’", "'").replace("‘", "'").replace("**", "").split())
    text = _APOSTROPHES.sub(_apostrophe, _MARKUP.sub("", text))
    return _SHORT.sub(lambda found: _SHORTHAND[found[0]], text)


def _apostrophe(match: re.Match[str]) -> str:
    if match[1]:
        return "I'm"
    if match[2]:
        return f"{match[2]}'ve"
    return f"{match[3]}n't" if match[3] else f"{match[4]}'t"


def opening(text: str) -> tuple[str, bool, bool]:
    """Text without greetings and asides before it; whether they correct something; whether they ask to remember."""
    correction = remember = False
    for _ in range(4):
        marked = _CORRECTION.match(text)
        if marked and marked.end() < len(text):
            text, correction = text[marked.end() :], True
            continue
        aside = _OPENING.match(text) or _OWN_SAYING.match(text)
        if not aside or aside.end() >= len(text):
            break
        remember = remember or any(word in aside[0].lower() for word in ("remember", "keep in mind", "forget"))
        text = text[aside.end() :]
    return text, correction, remember


def _is_question(sentence: str) -> bool:
    if _ORDER_START.match(sentence):
        return False
    if _QUESTION_START.match(sentence) and (sentence.endswith("?") or _asks(sentence)):
        return True
    if not sentence.endswith("?"):
        return False
    last = _BOUNDARY.split(sentence)[-1]
    return bool(_TAG.search(sentence)) or last == sentence or not _QUESTION_START.match(opening(last)[0])


_WH = re.compile(
    r"(?:and |but |so )*(?:what|where|who|whom|whose|why|how|which|what's|where's|who's|how's|when's)\b", re.I
)


def _asks(sentence: str) -> bool:
    return bool(_INVERTED.match(sentence) or _WH.match(sentence))


def _pieces(sentence: str) -> list[tuple[str, bool]]:
    """The sentence cut where a new subject starts; true marks what repairs the piece before it."""
    out: list[tuple[str, bool]] = []
    begin = 0
    for repair in _REPAIR.finditer(sentence):
        out.extend((piece, bool(begin)) for piece in _split(sentence[begin : repair.start()]))
        begin = repair.end()
    first = bool(begin)
    for piece in _split(sentence[begin:]):
        out.append((piece, first))
        first = False
    return out


def _split(text: str) -> list[str]:
    """Pieces with a subject each: "I live in Oslo and work at Nokia" gives the second its "I" back."""
    out: list[str] = []
    for piece in _BOUNDARY.split(text):
        if not _OWN_START.match(opening(piece)[0]):
            out.append(piece)
            continue
        first, *rest = _ELLIPSIS.split(piece)
        if rest and _INFINITIVE.search(first):  # "I'd love to visit the temple and take part": the second is wished too
            out.append(piece)
            continue
        out += [first, *(f"{'I am' if part.split()[0].lower() in _DOING else 'I'} {part}" for part in rest)]
    return [piece for piece in (item.strip() for item in out) if piece]


_INFINITIVE = re.compile(
    r"\bto (?!(?:work|school|the|an?|my|our|uni|church|town|bed|sleep)\b)(?-i:[a-z])|\b(?:would|could"
    r"|might|will|can|should|must|let|help|how|want|need|hope|wish)\b|'(?:d|ll)\b",
    re.I,
)
_DOING = ("living", "based", "working", "studying", "using", "learning", "married", "allergic", "engaged")


def is_unsure(clause: str) -> bool:
    """A wish, a guess or something no longer so."""
    return bool(_UNSURE.search(clause))
