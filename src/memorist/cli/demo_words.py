"""Contains the texts of the demo file: conversations, tools, documents and people."""

from __future__ import annotations

from ..values import JsonObject

FIRST = (
    ("Hi, I'm Ada Moreau. I live in London and I work as a nurse.", "Nice to meet you, Ada!"),
    ("I prefer short answers, and my sister is called Mia.", "Noted: short answers."),
    ("I'm allergic to penicillin. Never suggest it, please.", "I will never suggest penicillin."),
    (
        "We decided to hold the launch on 3 March with a budget of 4,200 euros.",
        "The launch is on 3 March, 4,200 euros.",
    ),
    ("My manager is Ruben Vaz; he signs orders above 500 euros.", "Ruben Vaz signs orders above 500 euros."),
)
MOVING = (
    ("Actually, I live in Lisbon now.", "Lisbon it is."),
    ("I'm the ward coordinator now, at Hospital Santa Marta.", "Congratulations!"),
    ("Deliveries go to my home from now on.", "To your home in Lisbon, then."),
)
LAUNCH = (
    ("Let's go through the launch again.", "Gladly. It was set for 3 March with 4,200 euros."),
    ("Who is invited?", "The wards 1 to 5, Ruben Vaz and two people of the supplier."),
    ("Samples must be there before the day itself.", "A week before would be safe."),
    (
        "We moved the launch to 10 March; samples go out a week before, to my home.",
        "Noted: the launch is on 10 March, samples on 3 March.",
    ),
    ("Remind Ruben that the samples need a cool box.", "I will remind him."),
)
STOCK = ("FFP2 masks", "surgical masks", "gloves", "syringes", "bandages", "thermometer covers")
ORDERS = (
    "Order {count} boxes of {item} for ward {ward}.",
    "Ward {ward} needs {count} boxes of {item} this week.",
    "Please add {count} boxes of {item} for ward {ward}, same supplier as always.",
    "Can you send {count} boxes of {item} to ward {ward}?",
)
WARDS = ("Ward rounds", "Beds and shifts", "Orders", "Night shift")
SYSTEM = (
    "You are the ward assistant of Hospital Santa Marta. Answer in the user's language. Never order medicine; only "
    "material from the list. Say what you did in one sentence. If stock is below twenty boxes, say so. Orders above "
    "500 euros wait for a signature. Dates are written as 10 March. You may look up stock, create orders and find "
    "free slots; you may not cancel orders of others."
)


def _tool(name: str, says: str, **fields: str) -> JsonObject:
    properties = {field: {"type": kind, "description": f"The {field} it is about"} for field, kind in fields.items()}
    parameters = {"type": "object", "properties": properties, "required": sorted(fields)}
    return {"type": "function", "function": {"name": name, "description": says, "parameters": parameters}}


TOOLS = [
    _tool("stock_lookup", "How much of each item a ward has left, as CSV", ward="integer"),
    _tool("create_order", "Order boxes of an item for a ward", ward="integer", item="string", boxes="integer"),
    _tool("find_slot", "A free slot for a call with someone", person="string", minutes="integer"),
]
_STOCK = "item,count\nmask-ffp2,140\nmask-surgical,1310\n" + "\n".join(
    f"item-{number:03},{(number * 37) % 400}" for number in range(1, 199)
)
CALLS: tuple[JsonObject, ...] = (
    {
        "id": "call_1", "name": "stock_lookup", "arguments": '{"ward": 3}',
        "question": "Check the stock for ward 3, please.", "result": _STOCK,
        "answer": "Ward 3 has 140 FFP2 masks left.",
    },
    {
        "id": "call_2", "name": "find_slot", "arguments": '{"person": "Ruben Vaz", "minutes": 30}',
        "question": "Find half an hour with Ruben.", "result": '{"slot": "Wednesday 11:00"}',
        "answer": "Wednesday at 11:00 is free.",
    },
)  # fmt: skip
DOCUMENTS = (
    (
        "Ward handbook",
        "# Orders\n\nMasks are ordered in boxes of 50. Orders before Thursday 16:00 arrive on Monday. Orders above 500 "
        "euros are signed by the head of purchasing.\n\n# Events\n\nPublic events on hospital ground are announced "
        "four weeks ahead. The porter needs a list of guests two days before.\n\n# Cold chain\n\nSamples that must "
        "stay below eight degrees travel in a cool box with a logger.\n",
    ),
    (
        "Suppliers",
        "# Nordmed\n\nMasks, gloves and syringes. Delivers twice a week and gives a tracking number on request.\n\n"
        "# Casa Branca\n\nBandages and thermometer covers; one delivery a week, on Thursday.\n",
    ),
)
PEOPLE: tuple[tuple[str, str, str, str, str], ...] = (
    ("joao", "João Reis", "Setúbal", "nurse", "I prefer messages in Portuguese."),
    ("mei", "Mei Lin", "Lisbon", "pharmacist", "My favourite supplier is Nordmed."),
    ("ines", "Inês Duarte", "Almada", "doctor", "Always show me the ward first."),
    ("ruben", "Ruben Vaz", "Lisbon", "buyer", "I never sign on Fridays."),
    ("sofia", "Sofia Prado", "Cascais", "surgeon", "I prefer tables to text."),
    ("tomas", "Tomás Leal", "Sintra", "porter", ""),
    ("clara", "Clara Nunes", "Oeiras", "midwife", "I'm vegetarian."),
    ("hugo", "Hugo Alves", "Lisbon", "technician", ""),
    ("noor", "Noor Haddad", "Lisbon", "doctor", "I speak Arabic and French."),
    ("lena", "Lena Brandt", "Lisbon", "nurse", "I speak German."),
    ("pavel", "Pavel Novak", "Loures", "radiologist", ""),
    ("rita", "Rita Sousa", "Barreiro", "cook", "I'm allergic to nuts."),
    ("diogo", "Diogo Pires", "Lisbon", "nurse", ""),
    ("marta", "Marta Campos", "Amadora", "secretary", "I prefer calls before noon."),
    ("bruno", "Bruno Matos", "Lisbon", "engineer", ""),
    ("vera", "Vera Pinto", "Seixal", "nurse", "Never call me on my free days."),
    ("filipe", "Filipe Dias", "Odivelas", "driver", ""),
    ("elsa", "Elsa Moura", "Lisbon", "physiotherapist", "I prefer kilometres."),
    ("nuno", "Nuno Faria", "Moita", "nurse", ""),
    ("carla", "Carla Rocha", "Montijo", "cleaner", "I speak Creole."),
    ("otto", "Otto Weiss", "Lisbon", "guest", ""),
)
