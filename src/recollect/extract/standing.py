"""Standing instructions and habits: what becomes a learning rather than a fact."""

from __future__ import annotations

import re
from functools import lru_cache

from .keys import slug
from .reading import normalise, opening

# Verbs that people give orders with; "always here to help" and "never gave up" are no orders.
_ORDERS = (
    "add address answer apply ask assume attach avoid back be begin book buy call capitalise capitalize cc "
    "change check choose cite close comment commit compile confirm consider contact convert copy create credit "
    "default"
    " delete deploy do double-check draft drop edit encrypt end ensure escape estimate execute explain export "
    "fetch finish follow forget format generate get give greet handle have highlight include indent inform "
    "install keep label"
    " leave let link list log mail make mark measure mention merge message modify name note notify number "
    "offer omit open order pay pick pin ping place plan post prefer prefix print prioritise prioritize provide "
    "publish push put"
    " quote raise read recommend record refer reference reject remember remind remove rename repeat replace "
    "reply report respond return review round run save say schedule search see send separate set share ship "
    "show shorten sign"
    " simplify skip sort speak spell split squash start state stick stop store suggest summarise summarize "
    "talk tell test text touch translate treat try turn type update upload use validate verify wait warn word "
    "wrap write"
)
_VERB = rf"(?:{'|'.join(_ORDERS.split())})"
_POLITE = (
    r"(?:please |pls |kindly |just |and |also |but |so |remember to |make sure (?:to |you |that you )"
    r"|be sure to |you (?:should|must) )*"
)
_FOR_GOOD = (
    r"(?:from now on(?:wards)?|going forward|moving forward|from here on(?: out)?|from today(?: on)?"
    r"|in (?:the )?future|for (?:all )?future \w+|by default|until further notice|from this point(?: on"
    r"| forward)?|as a (?:general )?rule)"
)
_LEADING = re.compile(
    rf"^{_POLITE}{_FOR_GOOD}[,:]? (?:{_POLITE}(?:{_VERB}|always|never|don't|do not|no|only)\b|(?:i|we)(?:'d"
    r"| would)? (?:want|need|prefer|expect|like)\b|you (?:must|should|need|can|will)\b|for (?:every|each|all"
    r"|any)\b|my \w+ (?:should|must)|all \w+ (?:should|must))",
    re.I,
)
_TRAILING = re.compile(
    rf"^{_POLITE}(?:(?:always|never|don't|do not|only) )?{_VERB}\b.*\b(?:{_FOR_GOOD}|every time|each time"
    r"|in (?:your|all|all your) (?:replies|answers|responses|messages|explanations)"
    r"|whenever (?:you|i|we)\b.*)$",
    re.I,
)
_ON_EVERY = re.compile(
    r"^(?:(?:whenever|every time|each time|any time|anytime) (?:you|i|we)|when (?:you (?!are|have|get|finish"
    rf"|can|feel)|i (?:ask|say|send|give|write|paste|share|request))\w*) [^,]{{3,80}}, {_POLITE}(?:always "
    rf"|never |don't |do not )?{_VERB}\b(?! me know)",
    re.I,
)
_IMPERATIVE = re.compile(
    rf"^{_POLITE}(?:(?:always|never|(?:don't|do not) (?:ever|you ever)) {_VERB}\b(?! (?:mind|again|to this|up)\b)"
    r"|(?:don't|do not) ever (?!forget|give|worry)\w+)",
    re.I,
)
_MANNERS = re.compile(
    r"^(?:please |pls )?(?:(?:don't|do not) (?:call me|address me|apologi[sz]e|ask me|remind me|lecture|suggest"
    r"|recommend|use the (?:words?|phrase)|use (?:\w+ )?(?:emojis?|bullets?|bullet points|markdown|tables|jargon"
    r"|abbreviations|exclamation|slang|headings|headers|comments|semicolons|contractions|em dashes"
    r"|passive voice))|(?:address|call|talk to|treat|speak to) me (?:by|as|with|like|\w+ly\b))",
    re.I,
)
_TONE = re.compile(
    r"^(?:please |pls )?be (?:more |less |very |always )*(?:concise|brief|succinct|polite|formal"
    r"|informal|casual|direct|blunt"
    r"|honest|friendly|short|detailed|precise|specific|verbose|technical)\b(?! (?:about|with) (?:this|that|it))",
    re.I,
)
_LANGUAGE = re.compile(
    r"^(?:please |pls )?(?:write|answer|reply|respond|speak|talk)(?: to me)?(?: only"
    r"| always)? in (?:(?-i:[A-Z])\w+ )?(?-i:[A-Z])[a-z]+$",
    re.I,
)
_STOP = re.compile(
    r"^(?:please |pls )?stop (?:using|calling|adding|apologi[sz]ing|saying|sending|including|putting|writing"
    r"|suggesting|recommending|prefixing|ending|starting|repeating|summari[sz]ing|asking me (?:if|whether|for"
    r"|to)|reminding|addressing|making up)\b(?! (?:these|this|that|it|them)\b)",
    re.I,
)
_IMPATIENT = re.compile(
    r"\b(?:now|immediately|at once|and (?:just )?(?:give|show|provide|send|do|get|tell|find|present))\b", re.I
)
_ANSWERS = re.compile(
    r"^(?:please |pls )?(?:keep|make) (?:(?:your|the|all|all your|all of your|any) )?(?:answers?|replies|reply"
    r"|responses?|explanations?|summaries|messages|code|comments|emails)\b (?!working|running)",
    re.I,
)
_PREFER = re.compile(
    r"^(?:(?:i|we) (?:(?:much|really|always|generally|would|strictly|strongly|personally|usually|typically|definitely"
    r"|actually|also|still|do|just) )*(?:prefer(?!red|ence| not to say| not to answer)|always want (?!to be\b)"
    r"|never want (?!to\b)|want you to (?:always|never|stop|use)|don't (?:ever )?want you to"
    r"|don't want to (?:see|get|receive|hear)|need you to (?:always|never)|(?:drink|take|eat|want"
    r"|need) my (?:coffee|tea|eggs|steak|burger|whisky)\b|like (?:it when you|it when|when you"
    r"|(?:my|the|your) (?:answers|replies|responses|code|coffee|tea|eggs|steak|emails|messages|reports"
    r"|summaries)\b))"
    r"|(?:i|we)'d (?:(?:much |really )*prefer|rather (?:you|have|not (?!say|answer|tell|discuss|talk"
    r"|share|think|go there)|get|use)|like you to (?:always|never|use"
    r"|answer|call|write|speak|reply|respond|address|keep))|(?:i"
    r"|we)'d appreciate (?:it )?if you (?:always|never|didn't|stopped)\b|my preference is\b"
    r"|my preferred \w+ (?:style|format"
    r"|way|tone|method)\b)",
    re.I,
)
_HABIT = re.compile(
    r"^(?:i|we) (?:usually|typically|normally|generally|always|often|tend to|mostly|regularly|routinely)"
    r" (?!want\b|need\b|forget\b|remember\b|wonder|know\b|knew\b"
    r"|have to\b|get (?:this|an?|the|that|errors?)\b|be\b|had\b|been\b|said\b|heard\b|saw\b|got\b|went\b|did\b"
    r"|felt\b|feel\b|thought\b|understood\b|understand\b|\w+ed\b|ever\b|would\b|could\b|give up\b)[a-z]+"
    r"|^(?:i|we) work (?:remotely|from home|nights|weekends|part-time|full-time|shifts)\b"
    r"|^(?:every|each|most) (?:morning|evening|night|day|days|week|weekend|month|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|mornings|evenings|weekends)s?,? (?:i|we)\b(?!'ll|'d)"
    r"|^on (?:mon|tues|wednes|thurs|fri|satur|sun|week)days,? (?:i|we)\b(?!'ll|'d)|^on weekends,? (?:i|we)\b"
    r"|^(?:i|we) (?!had|was|were|got|went|used|saw|did|have (?:an?|to)\b|\w+ed\b)[a-z]+ (?!.*\b(?:yesterday"
    r"|last|ago|maybe)\b).*\b(?:every (?:single )?(?:morning|evening|night|day|week|weekend|month|monday"
    r"|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:once|twice|three times|\d times) an? (?:day|week"
    r"|month)|(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten) [\w ]{2,30} (?:an?|per|each) (?:day"
    r"|night|week|month))(?: (?:at|around|from|in the|before|after|with) [\w :'-]{1,30})?$",
    re.I,
)
_ONLY = re.compile(
    r"^(?!just|not|this|that|one|two|\d)[\w -]{2,30} only,?(?: please| pls| for me)(?:$|,)|^(?:metric"
    r"|imperial|short|brief|concise|long|detailed|formal|informal|british|american|dark|light"
    r"|plain)\b[\w ]{0,20},? (?:please|pls)$|^(?:please |pls )?only (?:use|give|send|show|answer|reply"
    r"|suggest|recommend)\b",
    re.I,
)
_OVER = re.compile(
    r"^[\w' -]{2,30} (?:over|instead of|rather than) [\w' -]{2,30}(?:,| -| –)?,? (?:always|any day"
    r"|every time|any time|for me|please)\b",
    re.I,
)
_ONE_OFF = re.compile(
    r"\b(?:this time|for now|just this once|in this (?:file|case|function|chat|answer|reply)|right now|today"
    r"|tonight|this once|for this (?:one|task|question|email))\b",
    re.I,
)
_OWN = re.compile(r"(?:i|i'm|my|we|our|please|when|whenever|if|for|from|in|on|always|never|don't|stop|keep)\b", re.I)


_POLITELY = re.compile(
    r"^(?:can|could|would|will) you (?:please )?(?=(?:always|never|from now on|in (?:the )?future)\b)", re.I
)


@lru_cache(maxsize=8)
def _opened(sentence: str) -> str:
    return _POLITELY.sub("", opening(normalise(sentence))[0]).rstrip(" .!?")


def standing_instruction(clause: str, sentence: str) -> str | None:
    """What is asked for good, not for the task at hand; None when it is not that."""
    whole = _opened(sentence)
    if _ONE_OFF.search(whole):
        return None
    if _LEADING.match(whole) or _ON_EVERY.match(whole) or _ONLY.match(whole):
        return whole
    # In mid-sentence "always" may go with any subject before it; only the user's own sentences count.
    if not _OWN.match(whole) and not whole.startswith(clause):
        return None
    if (
        _TRAILING.match(clause)
        or _IMPERATIVE.match(clause)
        or _ANSWERS.match(clause)
        or _MANNERS.match(clause)
        or _LANGUAGE.match(clause)
        or _TONE.match(clause)
        or _PREFER.match(clause)
        or _ONLY.match(clause)
        or _OVER.match(clause)
    ):
        return clause
    return clause if _STOP.match(clause) and not _IMPATIENT.search(clause) else None


# The simple present of such a verb tells a habit: "I walk to work", "we bake our own bread".
_DAILY = re.compile(
    r"^(?:i|we) (?:walk|cook|bake|paint|sing|dance|swim|cycle|hike|ski|climb|surf|sail|garden|knit|sew"
    r"|commute|volunteer|coach|tutor|mentor"
    r"|meditate|pray|exercise|jog|lift|row|hunt|forage|brew|blog|vlog|stream|podcast|compose|perform"
    r"|photograph|film|translate|research|breed|grow|raise"
    r"|collect|wear|smoke|vape|sleep|wake up|get up|go to bed|eat|drink|watch|listen to|follow|attend"
    r"|travel|drive (?=to\b)|take (?=the (?:bus|train|tube|metro|subway|tram|stairs|aisle|window"
    r"|ferry)|public|my (?:tea|coffee|kids|dog|lunch))|teach|restore"
    r"|moderate|organi[sz]e|homeschool|babysit|work out|work from|work nights|work weekends|work "
    r"part-time|work full-time|work remotely|shop at|bank with|vote)(?: |(?<= ))"
    r"(?!this|that|it\b|these|those|them|you\b|your\b|the (?:point|time|first|second|last|blame"
    r"|opportunity|liberty|code|error|file|hint)|care\b|note\b|issue\b|advantage|a look|a (?:quick"
    r"|closer|break|moment|second|screenshot|picture|photo|nap|shower)"
    r"|about (?:it|that|this)|for granted|into|over\b|back\b|off\b|an? (?:error|issue|article|book"
    r"|message|exception|post|comment)|one|what|how|if|somewhere|there\b)\S",
    re.I,
)
_PASSING = re.compile(
    r"\b(?:now|today|tonight|tomorrow|yesterday|this (?:time|morning|week|error|file|code)|right away"
    r"|when|if|after|before|until|once|then|next|first|too much|enough|again|error|crash\w*|fails?)\b",
    re.I,
)


def habit(clause: str) -> bool:
    """What the user does again and again."""
    return bool(_HABIT.match(clause)) or bool(_DAILY.match(clause) and not _PASSING.search(clause))


def learning_key(kind: str, content: str) -> str:
    """A stable key for a learning: its kind and its first words."""
    return f"{kind}.{slug(content, words=8)}"
