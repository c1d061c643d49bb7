"""Typed slots: what `{place}`, `{person}`, `{things}` and the like make of the words that fill them.

Each reader gets the words of its slot and gives values with the last part of their key, or nothing: then the pattern
does not fire. A slot that has a closed list in `words.toml` (`{relation}`) has no reader here.
"""

from __future__ import annotations

from ..phrases import phrases
from . import base, names, things, times, trades
from .base import Around, Reader, Reading

__all__ = ["Around", "Reading", "knows", "read"]


def read(name: str, text: str, around: Around) -> list[Reading]:
    """What a slot makes of its words."""
    reader = _READERS.get(name)
    if reader is None:
        raise KeyError(f"no slot {{{name}}}: neither a reader nor a closed list of {around.lang}")
    return reader(text.strip(), around, phrases(around.lang))


def knows(name: str) -> bool:
    """Whether there is a reader of that name."""
    return name in _READERS


_READERS: dict[str, Reader] = {
    "text": base.read_text,
    "phrase": base.read_phrase,
    "thing": things.read_thing,
    "what": things.read_thing,
    "things": things.read_things,
    "person": names.read_person,
    "only": names.read_just_person,
    "introduced": names.read_introduced,
    "name": names.read_name,
    "people": names.read_people,
    "several": names.read_several,
    "place": names.read_place,
    "city": names.read_city,
    "address": names.read_address,
    "org": names.read_org,
    "company": names.read_company,
    "role": trades.read_role,
    "job": trades.read_job,
    "field": trades.read_field,
    "school": names.read_school,
    "tools": things.read_tools,
    "known": things.read_known_tools,
    "product": things.read_product,
    "languages": names.read_languages,
    "number": times.read_number,
    "age": times.read_age,
    "amount": times.read_amount,
    "measure": times.read_measure,
    "date": times.read_date,
    "past": times.read_date,
    "recurring": times.read_recurring,
    "when": times.read_when,
    "birthday": times.read_birthday,
    "email": base.matched(names.EMAIL),
    "phone": base.matched(names.PHONE),
    "handle": base.matched(names.HANDLE),
    "event": times.read_event,
    "owned": things.read_owned,
    "named": things.read_named,
    "goods": things.read_goods,
    "adjective": base.read_word,
    "plan": times.read_plan,
    "appointment": times.read_appointment,
    "did": times.read_did,
    "calendar": times.read_calendar,
    "counting": times.read_counting,
    "owned_number": times.read_owned_number,
    "aim": times.read_aim,
    "serious": times.read_serious,
    "become": trades.read_become,
    "exam": times.read_exam,
    "decided": base.read_decided,
    "belonging": things.read_belonging,
    "favourite": things.read_favourite,
    "pets": names.read_pets,
    "work": trades.read_work,
    "zone": names.read_zone,
    "behind": names.read_behind,
    "based": names.read_based,
    "compound": things.read_compound,
    "gear": things.read_gear,
    "self": names.read_self,
    "counted": things.read_counted,
    "pastime": things.read_pastime,
    "activity": things.read_activity,
    "small": names.read_small,
    "meant": names.read_meant,
    "citizen": names.read_citizen,
    "workplace": names.read_workplace,
    "sector": trades.read_sector,
    "firm": trades.read_firm,
    "duty": trades.read_duty,
    "livelihood": trades.read_livelihood,
    "living": trades.read_living,
    "practice": trades.read_practice,
    "turning": times.read_turning,
    "begin": times.read_begin,
    "deadline": times.read_deadline,
    "clock": times.read_clock,
    "codeword": times.read_codeword,
    "rank": times.read_rank,
    "length": times.read_length,
    "weight": times.read_weight,
}
