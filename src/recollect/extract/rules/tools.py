"""Tools, programming languages, systems, and things of the user's that have a name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..keys import slug
from ..phrases import cut, is_capital, listed, organisation
from .base import ADVERBS, CATEGORIES, GUESS, I_AM, I_HAVE, LIKELY, MY, SURE, Draft, Rule, Seen, rule, vocabulary
from .people import PET, RELATION

KNOWN = vocabulary(
    "android angular ansible apache arch argo asana atom aws azure bash bazel bitbucket blender c cassandra "
    "celery centos chrome circleci clickhouse clojure cmake confluence cpp csharp css cuda dart debian deno"
    " discord django docker dynamodb elasticsearch elixir emacs erlang excel express fastapi fedora figma "
    "firebase firefox fish flask flutter fortran gcp gentoo git github gitlab gmail go golang gradle grafana"
    " graphql haskell helm heroku html htmx hugo intellij ios java javascript jenkins jira jquery js julia "
    "jupyter k8s kafka keras kotlin kubernetes laravel latex linear linux lua mac macos mariadb matlab maven"
    " mongodb mongo mysql neovim netlify nextjs next.js nginx nix nixos node nodejs node.js notion npm numpy "
    "nvim obsidian ocaml openbsd opera oracle outlook pandas perl photoshop php pnpm poetry postgres"
    " postgresql powershell prometheus puppet pulumi pycharm python pytorch r rabbitmq rails react redis ruby "
    "rust safari scala scikit-learn selenium slack snowflake solr spark splunk sql sqlite sqlalchemy svelte"
    " swift tailwind tensorflow terraform tmux trello typescript ts ubuntu unity unreal uv vagrant vercel vim "
    "vite vs vscode vue webpack windows wordpress xcode yarn zig zoom zsh zulip"
    # programs of other trades
    " ableton acrobat airtable anki asana audacity autocad bitwarden brave calendly canva capcut chatgpt claude"
    " clickup cursor davinci datadog dbt devonthink dropbox duckdb duolingo emacs evernote excalidraw"
    " fantastical framer freshbooks garageband garmin gimp goodnotes goodreads grammarly hubspot "
    "illustrator indesign inkscape"
    " joplin keynote kindle lightroom libreoffice logseq looker mailchimp matomo mattermost miro"
    " netsuite newrelic nextcloud notability onenote openoffice overleaf pagerduty peloton"
    " photopea pipedrive plex postman powerbi powerpoint premiere procreate protonmail qgis quickbooks raycast"
    " readwise revit salesforce sap sas scrivener sentry servicenow sharepoint shopify signal"
    " sketchup skype solidworks spotify spss squarespace stata steam strava stripe sublime substack supabase superhuman"
    " tableau telegram thunderbird todoist toggl vivaldi webflow webstorm whatsapp wrike xero"
    " ynab youtube zapier zendesk zotero zed ghostty alacritty kitty iterm nushell podman vault"
    " celery fastify astro nuxt quarkus ktor rspec pytest jest cypress duckdb"
    " bigquery redshift databricks airflow dagster kibana jaeger memcached couchdb neo4j cockroachdb planetscale"
    " mssql sybase teradata cobol lisp racket prolog smalltalk nim purescript solidity"
    " verilog vhdl abap groovy"
)
SYSTEMS = vocabulary("mac macos linux windows ubuntu debian fedora arch chromebook android iphone ios")
_OBJECT_STOP = re.compile(
    r"^(?:it|that|this|these|those|them|my|your|our|the|a|an|his|her|two|one|some|any|both|all|more|less|what"
    r"|which|how|to|for|as|up|out|only|words?|i|you|same|too|very|public|cash)\b",
    re.I,
)
_CUT = re.compile(
    r"\s+(?:for|as|to|at|in|on|because|since|when|with|every|daily|instead|over|rather|from|and (?:i|we|it|my"
    r"|our|have|am|would)|via|by|through|under|behind|alongside|without|most|all|everywhere|inside|here"
    r"|there)\b.*$",
    re.I,
)
_VERSION = re.compile(r"\s+(?:machine|box|laptop|desktop|server|pc|computer|v?\d+(?:\.\d+)*|lts|pro|ce)$", re.I)


def is_tool(name: str) -> bool:
    words = name.split()
    if not words or _is_weekday_or_month(name):
        return False
    return (
        bool(words)
        and len(words) <= 3
        and (
            slug(name) in KNOWN
            or name.lower() in KNOWN
            or (len(name) > 2 and all(is_capital(word) for word in words) and not words[0].isdigit())
        )
    )


def tools_in(phrase: str) -> list[str]:
    """The tools a phrase lists: known ones in any case, others by their capitals."""
    text = re.sub(r"^(?:an?|the) (?=[A-Z])", "", phrase.strip())
    if _OBJECT_STOP.match(text):
        return []
    found = _names(_cut_tail(text))
    # "Python for analysis and R for plotting": after an aside only names that are known go on with the list.
    for item in re.split(r"\s*(?:,|\band\b|&)\s+", text)[1:]:
        name = _cut_tail(item)
        if name not in found and _VERSION.sub("", name).lower() in KNOWN:
            found.append(_VERSION.sub("", name))
    return found


def _names(text: str) -> list[str]:
    found = []
    for item in re.split(r"\s*(?:,\s*(?:and|or|plus)?|\band\b|&|\bplus\b|\bwith\b|\bon top of\b|\bon\b|\+)\s+", text):
        for name in listed(item, words=4):
            bare = _VERSION.sub("", re.sub(r"^(?:a bit of|an? )\s*", "", name))
            if is_tool(bare):
                found.append(bare)
    return found


def _cut_tail(text: str) -> str:
    pieces = re.split(r"(\s+with\s+)", text)
    head = _CUT.sub("", pieces[0])
    if head == pieces[0] and len(pieces) > 2:
        return head + " with " + _CUT.sub("", re.sub(r"^a bit of ", "", pieces[2]))
    return head


def uses(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    category = re.search(
        rf"\b(?:as|for) (?:my|our) (?:main |default |primary |daily |go-to |everyday )?(?P<c>{CATEGORIES})\b",
        match["x"],
        re.I,
    )
    names = tools_in(match["x"])
    if len(names) == 1 and re.search(r"\bmy (?:\w+ )?name\b", seen.sentence, re.I):
        yield Draft("nickname", names[0], LIKELY)
        return
    if category and names:
        yield Draft(f"uses.{slug(category['c'])}", names[0], SURE)
        return
    for name in names:
        yield Draft(f"uses.tool.{slug(name)}", True, LIKELY)


def _is_on(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    """We're on Postgres 16: people are also on holiday and on Season 4, so only tools known by name."""
    for name in tools_in(match["x"]):
        if name.lower() in KNOWN or slug(name).split("_")[0] in KNOWN:
            yield Draft(f"uses.tool.{slug(name)}", True, LIKELY)


def _stopped(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    said = match["x"] or match["y"]
    for name in tools_in(re.sub(r"\s+(?:any ?more|any longer|ages ago|years ago)\b.*$", "", said)):
        yield Draft(f"uses.tool.{slug(name)}", False, LIKELY)


def _switched(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    for name in tools_in(match["old"] or ""):
        yield Draft(f"uses.tool.{slug(name)}", False, LIKELY)
    new, _, old = match["x"].partition(" from ")
    for name in tools_in(old):
        yield Draft(f"uses.tool.{slug(name)}", False, LIKELY)
    for name in tools_in(new):
        yield Draft(f"uses.tool.{slug(name)}", True, LIKELY)


def _category(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    text = re.sub(r"^(?:an?|the) ", "", match["x"])
    names = tools_in(text)
    value = organisation(text) or (names[0] if names else None)
    model = re.match(rf"{re.escape(value)} (?:mini|pro|max|plus|ultra|air|lite|se)\b", text, re.I) if value else None
    value = model[0] if model else value
    if value:
        yield Draft(f"uses.{slug(match['c'])}", value, SURE)


def _user(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = match["x"]
    if name.lower() in SYSTEMS:
        yield Draft("uses.os", name, LIKELY)
    elif is_tool(name):
        yield Draft(f"uses.tool.{slug(name)}", True, LIKELY)
    for other in re.split(r"\s*(?:,|\+|&|\band\b|\bwith\b)\s*", seen.clause[match.end() :]):
        if other.strip().lower() in KNOWN:
            yield Draft(f"uses.tool.{slug(other)}", True, LIKELY)


_MY_STOP = re.compile(
    r"\b(?:name|surname|nickname|favou?rite|birthday|problem|question|issue|point|guess|goal|idea|plan"
    r"|concern|code|test|tests"
    r"|error|bug|understanding|opinion|preference|answer|advice|suggestion|choice|hope|dream|assumption"
    r"|hypothesis|theory|stack|toolchain|setup|toolbox"
    r"|next|first|second|last|only|main|biggest|current task|task|query|request|input|output|function|script"
    r"|age|address|email|phone|number|timezone|time zone|title|job|role|employer|company|team|pronouns|turn"
    r"|fault|mistake|reason|word"
    r"|language|tongue|hometown|home town|location|city|gift|present|destination|flight|order|friend|impression|fear"
    r"|worry|focus|priority|variable|class|result|weakness|strength|excuse|bet|pick|vote|top|best)\b",
    re.I,
)


_LEAD = r"^(?:an?|the|called|named) (?:(?:red|blue|black|white|grey|gray|green|silver|old|new|used|big|small) )*"


def _possession(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    what, value = match["what"].strip(), re.sub(_LEAD, "", match["x"].strip(), flags=re.I)
    if re.match(rf"(?:{RELATION}|{PET})s? (?-i:[A-Z])", what, re.I):
        return  # "my husband Paul is Irish" says it of Paul
    if re.fullmatch(rf"{RELATION}|{PET}s?|(?:\w+ )?{CATEGORIES}", what, re.I):
        return  # other rules know these better
    if (
        _MY_STOP.search(what)
        or "'s" in what
        or len(what.split()) > 3
        or not is_capital(value.split()[0])
        or not re.match(r"[^\W\d_]|(?:19|20)\d\d ", value)
    ):
        return
    value = re.sub(r"\s+(?:from (?:19|20)\d\d|that|which|with|and it)\b.*$", "", value)
    name = cut(value, words=3) if "," not in value and " and " not in value else organisation(value)
    if (
        name
        and not re.search(r"\b(?:is|are|was|has|have|and|not|you|to|in|on|at|for|with|from)\b", name)
        and not re.match(r"\d+(?:st|nd|rd|th)?$", name)
        and not _is_weekday_or_month(name)
    ):
        yield Draft(f"my.{slug(what)}", name, GUESS)


def _is_weekday_or_month(name: str) -> bool:
    from ..calendar import MONTHS, WEEKDAYS

    first = name.split()[0].lower().rstrip("s,.")
    return first in WEEKDAYS or first in MONTHS or f"{first}s" in WEEKDAYS


def _owns(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = cut(match["x"], words=4)
    if (
        name
        and name == match["x"].strip(" .")
        and not re.search(r"\b(?:in|on|at|for|with|from|that|which|and|to|of|is)\b", name)
        and not re.match(
            r"(?:PhD|MBA|BA|MA|BSc|MSc|ADHD|OCD|PTSD|GP|CEO|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday"
            r"|Sunday)\b",
            name,
        )
    ):
        yield Draft(f"owns.{slug(name)}", True, LIKELY)


def _drives(match: re.Match[str], seen: Seen) -> Iterable[Draft]:
    name = organisation(match["x"])
    if name:
        yield Draft("my.car", name, LIKELY)


RULES: tuple[Rule, ...] = (
    rule(
        rf"(?:I|we) {ADVERBS}(?:use|rely on|(?:code|program|develop|write code)(?: mostly| mainly| primarily"
        r"| usually| exclusively)? (?:in|with)|build with|build in|deploy to|deploy on|deploy with|host on"
        r"|host everything on|run on|run everything on|write code in|swear by) (?P<x>\S.*)",
        uses,
    ),
    rule(rf"(?:I|we) {ADVERBS}(?:write|run|code|program) (?P<x>(?!a |an |the |my |to |about |for |in )\S.*)", uses),
    rule(
        rf"(?:{I_AM}|(?:I|we)(?:'ve| have) been )(?:using|running|coding in|programming in|relying on|developing in"
        r"|developing with) (?P<x>\S.*)",
        uses,
    ),
    rule(rf"(?:I|we) {ADVERBS}work(?: mostly| mainly| primarily)? (?:in|with) (?P<x>\S.*)", _is_on),
    rule(rf"(?:I'm|I am|we're|we are) {ADVERBS}(?:on|all in on|all on) (?P<x>(?!the |a |my |it )\S.*)", _is_on),
    rule(
        rf"{MY} (?:tech |technology |current |backend |frontend )*(?:stack|toolchain|setup|toolbox)(?:'s| is"
        r"| consists of| includes|:) (?P<x>\S.*)",
        uses,
    ),
    rule(
        r"(?:I|we) (?:build|test|edit|write|plan|ship|develop|take|keep|do|handle|chat|communicate|document|model"
        r"|schedule|analy[sz]e)\b.{0,40}? (?:with|in|using|via|on|through) (?P<x>(?-i:[A-Z]).*)",
        _is_on,
    ),
    rule(
        r"(?:I|we) (?:track|deploy|host|monitor|organi[sz]e|store|prototype|automate|provision|back up)\b"
        r".{0,40}? (?:with|in|using|via|on|through) (?P<x>(?-i:[A-Z]).*)",
        uses,
    ),
    rule(
        r"(?:I|we)(?:'ve|'re|'m| have| are| am)? (?:just |recently |finally |completely )*(?:switched"
        r"|migrated|converted|switching|migrating)(?: everything| over| fully| completely)*(?: (?:my"
        r"|our|the|all) [\w ]{2,25}?)?(?: from (?P<old>\S.*?))? (?:to"
        r"|over to) (?P<x>\S.*)",
        _switched,
    ),
    rule(
        r"(?:I|we)(?:'ve| have)? (?:just |recently |finally )*(?:replaced) (?P<old>\S.*?) (?:with|by) (?P<x>\S.*)",
        _switched,
    ),
    rule(
        r"(?:I|we)(?:'ve| have)? (?:just |recently |finally |completely )*(?:stopped using|quit using|gave up on"
        r"|given up on|ditched|dropped|abandoned|moved away from|moved off|got rid of|(?:no longer|don't"
        r"|do not) use(?=.* any ?more)|no longer use|uninstalled) (?P<x>\S.*)(?P<y>)",
        _stopped,
        negative=True,
    ),
    rule(
        r"(?:I'm|I am|we're|we are) (?:no longer (?:using|on) (?P<y>\S.*)|not (?:using|on) "
        r"(?P<x>\S.*?) any ?(?:more|longer)$)",
        _stopped,
        negative=True,
    ),
    rule(
        rf"{MY} (?:main |default |primary |preferred |go-to |current )*(?P<c>{CATEGORIES})(?: of choice)?(?:'s| is"
        r"|:)(?: now| still)? (?P<x>\S.*)",
        _category,
    ),
    rule(
        rf"{I_AM}an? (?:happy |long-time |longtime |heavy |die-hard |daily )*(?P<x>[\w.+#]+(?: [A-Z]\w+)?) (?:user"
        r"|person|guy|girl|shop|house)\b",
        _user,
    ),
    rule(rf"{MY} (?P<what>[a-z][\w' -]{{1,40}}?)(?:'s| is| are)(?: called| named)? (?P<x>\S.*)", _possession),
    rule(
        rf"{I_HAVE}an? (?:old |new |used |second-hand |black |white |red |blue )*(?P<x>(?-i:[A-Z]|[a-z][A-Z]).*)", _owns
    ),
    rule(
        rf"{MY} (?:[\w-]+ ){{1,3}}?(?:is|are) (?:written|built|implemented|hosted|deployed|coded|running) (?:in"
        r"|with|on|using) (?P<x>\S.*)",
        uses,
    ),
    rule(rf"{MY} (?:[\w-]+ ){{1,3}}?(?:runs on|runs|run on|uses|relies on|depends on|works with) (?P<x>\S.*)", uses),
    rule(rf"(?:I|we) {ADVERBS}(?:drive|ride) (?:an?|my|our) (?P<x>\S.*)", _drives),
)
