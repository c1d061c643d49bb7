"""What the rules read, in each language, and what they must not read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memorist.extract import Extracted, extract, slug
from memorist.extract import rules as rules_module
from memorist.extract.extracted import EVERYTHING
from memorist.extract.extractor import unread
from memorist.extract.rules import RuleBook, RulesError
from memorist.languages import languages

AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)


def facts(text: str, **options: Any) -> dict[str, Any]:
    return {item.key: item.value for item in extract(text, at=AT, **options) if item.kind == "fact"}


STATED = {
    "en": [
        ("My name is Ada Lindqvist.", {"name": "Ada Lindqvist"}),
        ("Hi, I'm Ada.", {"name": "Ada"}),
        ("I'm Lee, I live in Oslo.", {"name": "Lee", "location": "Oslo"}),
        ("I'm Nigerian, I live in Lagos.", {"location": "Lagos"}),
        ("I live just outside of Lyon with my dog.", {"location": "the Lyon area"}),
        ("How do I heat my small apartment in Brooklyn?", {"location": "Brooklyn"}),
        ("I'm the lead designer at Acme.", {"role": "lead designer", "employer": "Acme"}),
        ("I'm the co-founder of Comparative, a new tool.", {"role": "co-founder", "employer": "Comparative"}),
        ("My doctor diagnosed me with asthma.", {"condition.asthma": "asthma"}),
        ("I was diagnosed as celiac.", {"condition.celiac_disease": "celiac disease"}),
        ("I use a wheelchair.", {"condition.wheelchair_user": "wheelchair user"}),
        ("I'll turn 30 on March 3rd.", {"birthday": "--03-03"}),
        ("I'm Ada, your mentor here at Acme.", {"name": "Ada", "role": "mentor", "employer": "Acme"}),
        ("Please call me Bea.", {"nickname": "Bea"}),
        ("I live in Porto.", {"location": "Porto"}),
        ("I'm based in Denver, CO.", {"location": "Denver, CO"}),
        ("We moved to São Paulo last month.", {"location": "São Paulo"}),
        ("I live in Porto and work at Acme.", {"location": "Porto", "employer": "Acme"}),
        ("I work as a paramedic at St. Mary's Hospital.", {"role": "paramedic", "employer": "St. Mary's Hospital"}),
        ("As an architect, I sketch a lot.", {"role": "architect"}),
        ("I'm allergic to peanuts and shellfish.", {"allergy.peanuts": "peanuts", "allergy.shellfish": "shellfish"}),
        ("I'm Ada. I live in Lisbon.", {"name": "Ada", "location": "Lisbon"}),
        ("I'm allergic to peanuts, and I live in Lisbon.", {"allergy.peanuts": "peanuts", "location": "Lisbon"}),
        ("I'm allergic to peanuts, and live in Lisbon.", {"allergy.peanuts": "peanuts", "location": "Lisbon"}),
        ("I have a severe penicillin allergy.", {"allergy.penicillin": "penicillin"}),
        ("I'm diabetic.", {"condition.diabetes": "diabetes"}),
        ("I was diagnosed with asthma.", {"condition.asthma": "asthma"}),
        ("I take metformin every day.", {"medication.metformin": "metformin"}),
        ("I'm a vegetarian.", {"diet": "vegetarian"}),
        ("I don't eat pork.", {"avoids.pork": "pork"}),
        ("Any gifts for my cousin Rachel?", {"relation.cousin.rachel": "Rachel"}),
        ("My wife, Anna, is late.", {"relation.wife": "Anna"}),
        ("I met my new attorney Diana on Monday, what now?", {"relation.lawyer.diana": "Diana"}),
        ("I've got a close friend, David, who reads a lot.", {"relation.friend.david": "David"}),
        ("I have a sister named Clara.", {"relation.sister.clara": "Clara"}),
        (
            "What happens to my kids, Francis, Michael, and Rachel, in my will?",
            {f"relation.child.{name.lower()}": name for name in ("Francis", "Michael", "Rachel")},
        ),
        ("My two sisters Eva and Lea are here.", {"relation.sister.eva": "Eva", "relation.sister.lea": "Lea"}),
        ("I work as a Junior IT Support Specialist at a local startup.", {"role": "Junior IT Support Specialist"}),
        ("I work as a head of sales in Porto.", {"role": "head of sales"}),
        ("Any advice for my new job as a data engineer?", {"role": "data engineer"}),
        ("Feedback matters for my growth as a designer.", {"role": "designer"}),
        ("As a mentor myself, I've seen that.", {"role": "mentor"}),
        ("I've been working in human resources for years.", {"industry": "HR"}),
        ("I run a small bakery in Lyon.", {"role": "small bakery owner"}),
        ("I recently opened my own flower shop.", {"role": "flower shop owner"}),
        ("If you get a cat, just remember I'm allergic to fur.", {"allergy.fur": "fur"}),
        ("Which snacks respect my allergy to cashews?", {"allergy.cashews": "cashews"}),
        ("I wish I could, but my sciatica is flaring up again.", {"condition.sciatica": "sciatica"}),
        ("I've been living with gout and need recipes.", {"condition.gout": "gout"}),
        ("I'm having recurring migraines.", {"condition.migraines": "migraines"}),
        ("I have a dairy intolerance.", {"condition.dairy_intolerance": "dairy intolerance"}),
        ("I have a bad knee, so no running.", {"condition.bad_knee": "bad knee"}),
        ("My cat Luna is sick.", {"pet.cat.luna": "Luna"}),
        ("My cats, Luna and Milo, are fighting.", {"pet.cat.luna": "Luna", "pet.cat.milo": "Milo"}),
        ("I recently adopted a golden retriever named Max.", {"pet.dog.max": "Max"}),
        ("I have two kids, Emma (7) and Noah (5).", {"relation.child.emma": "Emma", "relation.child.noah": "Noah"}),
        ("My friends Eva and Mike came.", {"relation.friend.eva": "Eva", "relation.friend.mike": "Mike"}),
        ("I talked to Dr. Smith, my therapist, about it.", {"relation.therapist": "Dr. Smith"}),
        ("My grandson Leo plays soccer.", {"relation.grandson.leo": "Leo"}),
        ("I'm married to Anna.", {"relation.spouse": "Anna"}),
        ("My name is April.", {"name": "April"}),
        ("I'm allergic to peanuts, badly, I carry an EpiPen.", {"allergy.peanuts": "peanuts"}),
        ("As a UX designer, I sketch a lot.", {"role": "UX designer"}),
        ("As a high school teacher in Ohio, I grade at night.", {"role": "high school teacher"}),
        ("I've recently been promoted to senior software engineer.", {"role": "senior software engineer"}),
        ("I just started a new job as a data analyst at Shopify.", {"role": "data analyst", "employer": "Shopify"}),
        ("I'm a nurse, and I would love some tips.", {"role": "nurse"}),
        ("I would love a recipe, but I'm vegan.", {"diet": "vegan"}),
        ("They know about my strict vegan diet, right?", {"diet": "vegan"}),
        ("What can I cook, given that I'm allergic to nuts?", {"allergy.nuts": "nuts"}),
        ("Which foods are bad for my IBS symptoms?", {"condition.ibs": "IBS"}),
        ("I'm on insulin and metformin.", {"medication.insulin": "insulin", "medication.metformin": "metformin"}),
        ("I can't have dairy.", {"avoids.dairy": "dairy"}),
        ("As a Chicago resident, I follow the news.", {"location": "Chicago"}),
        ("We moved from Berlin to Lisbon last month.", {"location": "Lisbon"}),
        ("I've lived in Rome for two years.", {"location": "Rome"}),
        ("I'm currently 32 years old.", {"age": 32}),
        ("I'm a 34-year-old nurse.", {"age": 34, "role": "nurse"}),
        ("I'm 20, and I'm looking for a hobby.", {"age": 20}),
        ("I just turned 30 on February 12th.", {"age": 30, "birthday": "--02-12"}),
        ("My birthday is tomorrow.", {"birthday": "--11-12"}),
        ("My birthday is on 3 May.", {"birthday": "--05-03"}),
        ("Remember that my car is on level 3.", {"note.my_car_is_on_level_3": "My car is on level 3"}),
        ("Remember: the meeting is on Friday.", {"note.the_meeting_is_on_friday": "The meeting is on Friday"}),
        ("Please remember that the deadline is May 3.", {"note.the_deadline_is_may_3": "The deadline is May 3"}),
        ("Remember my shoe size is 42.", {"note.my_shoe_size_is_42": "My shoe size is 42"}),
        ("Don't forget I have a nut allergy.", {"allergy.nuts": "nuts"}),
        ("Correction: I work at Globex.", {"employer": "Globex"}),
        ("I'm allergic to shellfish, so please be careful.", {"allergy.shellfish": "shellfish"}),
        ("I'm allergic to dust, especially in spring.", {"allergy.dust": "dust"}),
        ("I'm allergic to peanuts, not almonds.", {"allergy.peanuts": "peanuts"}),
        ("I'm allergic to latex and hate gloves.", {"allergy.latex": "latex"}),
        ("I'm allergic to peanuts and vegan.", {"allergy.peanuts": "peanuts"}),
        ("I'm allergic to nuts, okay.", {"allergy.nuts": "nuts"}),
        ("I'm allergic to peanuts, tree nuts.", {"allergy.peanuts": "peanuts", "allergy.tree_nuts": "tree nuts"}),
        ("I'm allergic to kiwis and mangoes.", {"allergy.kiwis": "kiwis", "allergy.mangoes": "mangoes"}),
        ("I have a nut allergy.", {"allergy.nuts": "nuts"}),
        ("I'm called Peter.", {"name": "Peter"}),
        ("I'm Ana Sousa, nice to meet you.", {"name": "Ana Sousa"}),
        ("My name is not Ana, it's Anna.", {"name": "Anna"}),
        ("My last name is O'Brien.", {"surname": "O'Brien"}),
        ("My pronouns are they/them.", {"pronouns": "they/them"}),
        ("From now on, call me Bob.", {"nickname": "Bob"}),
        ("I live near Boston.", {"location": "the Boston area"}),
        ("My home is in Lyon.", {"location": "Lyon"}),
        ("I just started a new job at Amazon.", {"employer": "Amazon"}),
        ("I'm 12 weeks pregnant.", {"condition.pregnancy": "pregnancy"}),
        ("I only eat halal food.", {"diet": "halal"}),
        ("I became vegan in January.", {"diet": "vegan"}),
        ("My boss is Karen.", {"relation.boss": "Karen"}),
        ("My doctor is Dr. Patel.", {"relation.doctor": "Dr. Patel"}),
        ("Our daughter Emma is five.", {"relation.daughter.emma": "Emma"}),
        ("Our cat is called Luna.", {"pet.cat.luna": "Luna"}),
        ("My date of birth is 3 May 1990.", {"birthday": "1990-05-03"}),
    ],
    "de": [
        ("Ich heiße Karl Weber.", {"name": "Karl Weber"}),
        ("Korrektur: Ich wohne in Graz.", {"location": "Graz"}),
        ("Ich wohne in Leipzig.", {"location": "Leipzig"}),
        ("Ich arbeite als Tischler bei Siemens.", {"role": "Tischler", "employer": "Siemens"}),
        ("Ich bin allergisch gegen Haselnüsse.", {"allergy.haselnüsse": "Haselnüsse"}),
        ("Ich bin Vegetarierin.", {"diet": "Vegetarier"}),
        ("Meine Schwester Jana kommt morgen.", {"relation.sister.jana": "Jana"}),
    ],
    "fr": [
        ("Je m'appelle Chloé Martin.", {"name": "Chloé Martin"}),
        ("Je suis allergique aux noix, donc attention.", {"allergy.noix": "noix"}),
        ("J'habite à Rennes.", {"location": "Rennes"}),
        ("Je suis allergique aux arachides.", {"allergy.arachides": "arachides"}),
        ("Je suis végétarienne.", {"diet": "végétarien"}),
        ("Ma sœur Julie arrive demain.", {"relation.sister.julie": "Julie"}),
    ],
    "es": [
        ("Me llamo Lucía Ramos.", {"name": "Lucía Ramos"}),
        ("Recuerda: soy vegano.", {"diet": "vegano"}),
        ("Vivo en Sevilla.", {"location": "Sevilla"}),
        ("Soy alérgica a los cacahuetes.", {"allergy.cacahuetes": "cacahuetes"}),
        ("Soy vegana.", {"diet": "vegano"}),
        ("Mi hermana Carmen vive en Sevilla.", {"relation.sister.carmen": "Carmen"}),
    ],
    "it": [
        ("Mi chiamo Giulia Conti.", {"name": "Giulia Conti"}),
        ("Sono allergico alle noci, quindi attenzione.", {"allergy.noci": "noci"}),
        ("Abito a Torino.", {"location": "Torino"}),
        ("Sono allergica alle noci e vivo a Roma.", {"allergy.noci": "noci", "location": "Roma"}),
        ("Sono allergica alle arachidi.", {"allergy.arachidi": "arachidi"}),
        ("Mio fratello Marco è qui.", {"relation.brother.marco": "Marco"}),
    ],
    "pt": [
        ("Meu nome é Beatriz Souza.", {"name": "Beatriz Souza"}),
        ("Sou alérgico a amendoim, então cuidado.", {"allergy.amendoim": "amendoim"}),
        ("Moro em Recife.", {"location": "Recife"}),
        ("Sou alérgica a amendoim.", {"allergy.amendoim": "amendoim"}),
        ("Minha irmã Ana mora aqui.", {"relation.sister.ana": "Ana"}),
    ],
    "nl": [
        ("Mijn naam is Sanne de Vries.", {"name": "Sanne de Vries"}),
        ("Ik ben allergisch voor noten, dus pas op.", {"allergy.noten": "noten"}),
        ("Ik woon in Utrecht.", {"location": "Utrecht"}),
        ("Ik ben allergisch voor pinda's.", {"allergy.pindas": "pinda's"}),
        ("Mijn zus Fleur komt morgen.", {"relation.sister.fleur": "Fleur"}),
    ],
    "ja": [
        ("私の名前は佐藤美咲です。", {"name": "佐藤美咲"}),
        ("京都に住んでいます。", {"location": "京都"}),
        ("私はそばアレルギーがあります。", {"allergy.そば": "そば"}),
    ],
    "zh": [
        ("我叫王小明。", {"name": "王小明"}),
        ("我对花生、牛奶和鸡蛋过敏。", {"allergy.花生": "花生", "allergy.牛奶": "牛奶", "allergy.鸡蛋": "鸡蛋"}),
        ("我住在杭州。", {"location": "杭州"}),
        ("我对花生过敏。", {"allergy.花生": "花生"}),
        ("我妹妹叫小雨。", {"relation.sister.小雨": "小雨"}),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [row for rows in STATED.values() for row in rows])
def test_plain_statements_are_read(text: str, expected: dict[str, Any]) -> None:
    assert facts(text) == expected


def test_every_language_states_something() -> None:
    assert set(STATED) == set(languages())


@pytest.mark.parametrize(
    "text",
    [
        "Actually, yes.",
        "Actually, that's right.",
        "No, thanks.",
        "I'm Congrats!",
        "Hi! I'm Excited about this.",
        "I'm eager to start.",
        "I'm a bit tired.",
        "I'm a huge fan of jazz.",
        "I'm a failure.",
        "I found out I'm allergic to found out",
        "I'm allergic to mondays, lol.",
        "I'm allergic to this.",
        "I take notes on her style.",
        "I take it you know.",
        "I live in a dry climate.",
        "I live for these moments.",
        "I moved to Linux last year.",
        "My friend from Boston works there.",
        "My friend is allergic to nuts.",
        "My sister lives in Porto.",
        "Am I allergic to nuts?",
        "If I'm allergic to nuts, what then?",
        "I used to live in Oslo.",
        "I would never work at Globex.",
        "My birthday was great.",
        "We bought it in November 2023.",
        "Remember, my door is always open.",
        "Remember that consistency is key.",
        "Just remember: pain is temporary.",
        "Remember: when I ask, 'Do you understand?', say yes.",
        "Remember my brother?",
        "Alice: I live in Rome.",
        "I'm allergic to the smell of paint.",
        "I'm allergic to my boss.",
        "I found a job at Target for my son.",
        "I got a job offer at Acme.",
        "My sister is Canadian.",
        "That isn't right.",
        "That's wrong.",
        "Call me back.",
        "Call me Monday.",
        "I'm Leo.",
        "I'm a terrible cook.",
        "I'm 20 minutes late.",
        "I have diabetes in my family.",
        "My mom has asthma.",
        "My late husband John loved it.",
        "My sister's husband Tom is nice.",
        "I lived in Rome for two years.",
        "If I move there, I'm a teacher.",
        "He thinks I'm a doctor, and I'm allergic to nuts.",
        "Is it because I'm allergic to nuts?",
        "I'm a doctor in this story.",
        "Exactly, my friend, I see.",
        "I own a company car.",
        "I own a studio in Paris.",
        "I run a business meeting every week.",
        "I want to open my own bakery.",
        "I work in the dark.",
        "I worked in finance.",
        "I'd love to work in fashion.",
        "I run a shop in this game.",
        "Do you remember I work in law?",
        "I've been dealing with anxiety lately.",
        "I have a bad feeling.",
        "My dog's allergy to chicken is a pain.",
        "Ich bin müde.",
        "Ich bin ein Fan von Jazz.",
        "Je suis fatiguée.",
        "Soy de Madrid.",
        "友達は卵アレルギーです。",
        "我不知道。",
    ],
)
def test_everything_else_is_left_alone(text: str) -> None:
    assert extract(text, at=AT) == []


def wishes(text: str) -> list[Any]:
    return [item.value for item in extract(text, at=AT) if item.type == "preference"]


@pytest.mark.parametrize(
    "text",
    [
        "From now on, please answer in French.",
        "Always use metric units.",
        "Always verify that the percentages add up when I ask about my will.",
        "Whenever I ask for a recipe, please always scale it to two people.",
        "Never use emojis in your answers.",
        "Please keep answers short.",
        "I want you to always start function names with 'fn_'.",
        "Going forward, I'd like you to keep your answers short.",
        "From now on, I'd like you to refrain from small talk.",
        "Please be concise from now on.",
        "Antworte mir bitte immer auf Deutsch.",
        "À partir de maintenant, réponds en français.",
        "A partir de ahora, responde en español.",
        "D'ora in poi rispondi in italiano.",
        "A partir de agora, responda em português.",
        "Antwoord voortaan in het Nederlands.",
        "これからは日本語で答えてください。",
        "以后请用中文回答。",
    ],
)
def test_standing_wishes_are_read(text: str) -> None:
    assert len(wishes(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Don't ever quit on what you love.",
        "Never give up!",
        "Don't tell me that again.",
        "Answer in French.",
        "Please use shorter sentences in this one.",
        "Always start them with 'z_'.",
        "You chase infinity, but always end up with a frame.",
        "My mother always gave me advice.",
        "Always be kind.",
        "Please keep answers short for this quiz.",
        "She always laughs when I ask about her cat.",
        "Always nice when I ask and somebody knows.",
        "When I ask my boss, he never answers.",
        "From now on, I want you to be happy.",
        "Going forward, I want you to focus on two key things.",
        "Call me Bob from now on.",
    ],
)
def test_one_time_requests_and_pep_talk_are_no_wishes(text: str) -> None:
    assert wishes(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Please forget that I enjoy fishing trips.", "I enjoy fishing trips"),
        ("Forget that I drive a vintage car.", "I drive a vintage car"),
        (
            "Please forget my preference for dark roast from your memory.",
            "my preference for dark roast",
        ),
        ("Don't remember this.", ""),
        ("Merk dir das nicht.", ""),
        ("N'enregistre pas ça.", ""),
        ("No guardes esto.", ""),
        ("Non salvarlo.", ""),
        ("Não guarde isso.", ""),
        ("Sla dit niet op.", ""),
        ("别保存这个。", ""),
        ("これは保存しないでください。", ""),
        ("Forget everything you know about me.", EVERYTHING),
        ("Please forget all about me.", EVERYTHING),
        ("Can you erase all the information you have about me?", EVERYTHING),
        ("Forget everything I've told you, please.", EVERYTHING),
        ("Wipe your memory of me.", EVERYTHING),
        ("Vergiss bitte alles, was du über mich weißt.", EVERYTHING),
        ("Oublie tout ce que tu sais sur moi.", EVERYTHING),
        ("Olvida todo lo que sabes de mí.", EVERYTHING),
        ("Dimentica tutto quello che sai di me.", EVERYTHING),
        ("Esqueça tudo o que você sabe sobre mim.", EVERYTHING),
        ("Vergeet alles wat je over mij weet.", EVERYTHING),
        ("忘记你知道的关于我的一切。", EVERYTHING),
        ("私について知っていることをすべて忘れてください。", EVERYTHING),
        ("That's not true anymore.", ""),
        ("That isn't right anymore.", ""),
        ("You can forget my birthday.", "my birthday"),
        ("Please forget everything I told you about Carla.", "Carla"),
        ("Forget what I said about Carla Diaz.", "Carla Diaz"),
        ("Forget everything about Carla.", "Carla"),
        ("I don't want you to remember my address.", "my address"),
        ("Vergiss bitte, dass ich in Leipzig wohne.", "ich in Leipzig wohne"),
        ("Oublie que j'habite à Rennes.", "j'habite à Rennes"),
        ("Olvida que vivo en Sevilla.", "vivo en Sevilla"),
        ("Dimentica che abito a Torino.", "abito a Torino"),
        ("Esqueça que moro em Recife.", "moro em Recife"),
        ("Vergeet dat ik in Utrecht woon.", "ik in Utrecht woon"),
        ("私が京都に住んでいることは忘れてください。", "私が京都に住んでいる"),
        ("请忘掉我住在杭州。", "我住在杭州"),
    ],
)
def test_requests_to_forget_store_nothing_else(text: str, value: str) -> None:
    (item,) = extract(text, at=AT)
    assert (item.kind, item.value) == ("forget", value)


@pytest.mark.parametrize(
    "text",
    [
        "Forget it.",
        "I'll never forget that trip.",
        "I forgot my keys.",
        "Don't forget the milk.",
        "Forget everything you know about cooking.",
        "Forget everything you know about Python.",
        "Forget everything about Python and answer as a novice.",
        "Forget about it.",
        "Forget about dinner.",
        "Forget about Carla, let's talk about work.",
        "Forget everything and run.",
        "Clear my profile.",
    ],
)
def test_other_uses_of_forget_are_no_requests(text: str) -> None:
    assert extract(text, at=AT) == []


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("I don't live in Oslo anymore.", "location"),
        ("I no longer work at Acme.", "employer"),
        ("I left Acme.", "employer"),
        ("I've just resigned from Acme.", "employer"),
        ("I quit Acme last month.", "employer"),
        ("Forget about Carla.", "relation.*"),
        ("I'm not allergic to nuts anymore.", "allergy.nuts"),
        ("I'm no longer vegetarian.", "diet"),
        ("I stopped taking metformin.", "medication.metformin"),
        ("Ich wohne nicht mehr in Leipzig.", "location"),
        ("Je n'habite plus à Rennes.", "location"),
        ("Ya no vivo en Sevilla.", "location"),
        ("我不再住在杭州了。", "location"),
    ],
)
def test_endings_are_read(text: str, key: str) -> None:
    (item,) = extract(text, at=AT)
    assert (item.key, item.retracted) == (key, True)


def test_leaving_a_building_for_the_day_ends_no_job() -> None:
    assert extract("I left Acme at 5 to catch the bus.", at=AT) == []
    assert extract("I left Acme in a hurry.", at=AT) == []


def test_a_correction_names_the_value_that_it_replaces() -> None:
    before = extract("My name is John.", at=AT)
    (item,) = extract("No, it's Jon, not John.", at=AT, previous=before)
    assert (item.key, item.value, item.rejected, item.correction) == ("name", "Jon", "John", True)
    assert extract("No, it's Jon, not Peter.", at=AT, previous=before) == []
    (item,) = extract("It's Jon, not John.", at=AT, previous=before)
    assert (item.key, item.value, item.rejected) == ("name", "Jon", "John")


def test_retiring_ends_the_employer() -> None:
    items = extract("I'm retired now.", at=AT)
    assert {(item.key, item.value, item.retracted) for item in items} == {
        ("role", "retired", False),
        ("employer", None, True),
    }


def test_two_people_with_one_relation_have_a_key_each() -> None:
    people = facts("My friend Alex is here. My friend Ryan is not.")
    assert people == {"relation.friend.alex": "Alex", "relation.friend.ryan": "Ryan"}


@pytest.mark.parametrize(
    ("text", "expected"), [("Меня зовут Иван, я живу.", True), ("I live in Porto.", False), ("ok", False)]
)
def test_messages_in_unknown_languages_are_recognised(text: str, expected: bool) -> None:
    assert unread(text) is expected


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"rules": [{"topic": "nmae", "say": ["x"]}]}, "no topic 'nmae'"),
        ({"rules": [{"topic": "name", "says": ["x"]}]}, "unknown field 'says'"),
        ({"rules": [{"topic": "name", "say": ["i am {nmae}"]}]}, "no slot or list 'nmae'"),
        ({"opener": "oh"}, "unknown name 'opener'"),
        ({"lists": {"jobs": "nurse; cook"}}, "no rule names 'jobs'"),
        ({"slots": {"plaec": "x"}}, "no rule names 'plaec'"),
    ],
)
def test_an_unknown_name_in_a_rules_file_is_an_error_at_load(
    table: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules_module, "read", lambda lang, name: table)
    with pytest.raises(RulesError, match=problem):
        RuleBook("en")


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(ValueError, match="naive"):
        extract("I live in Porto.", at=datetime(2026, 1, 1))


def test_slugs_fold_case_and_known_spellings() -> None:
    assert (slug("Black Coffee"), slug("PostgreSQL"), slug("C++")) == ("black_coffee", "postgres", "cpp")


def test_what_is_extracted_carries_its_evidence() -> None:
    text = "Hello there! I live in Porto."
    (item,) = extract(text, at=AT)
    assert isinstance(item, Extracted)
    assert (text[slice(*item.span)], item.text, item.lang) == ("I live in Porto.", "I live in Porto.", "en")


def test_inline_code_in_a_wish_is_kept_and_a_wish_cut_by_longer_code_is_not_read() -> None:
    (wish,) = extract("From now on, always use `__init__` and `x_y` names.", at=AT)
    assert wish.value == "From now on, always use `__init__` and `x_y` names"
    assert extract("From now on, always start with `def main() -> None:` in scripts.", at=AT) == []
