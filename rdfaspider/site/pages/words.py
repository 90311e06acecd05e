"""Names, titles and sentences. Some hold characters that markup must escape, on purpose."""

from __future__ import annotations

from random import Random

GIVEN_NAMES = (
    *("Ada", "Björn", "Chloé", "Dimitri", "Esra", "Fatima", "Grace", "Hiro", "Inés", "Jörg"),
    *("Kofi", "Lucía", "Mehmet", "Ngozi", "Olga", "Priya", "Seán", "Tomáš", "Zoë", "Émile"),
)
FAMILY_NAMES = (
    *("Ångström", "Brown", "Çelik", "D'Angelo", "Eriksen", "Fischer", "García", "Hopper"),
    *("Ito", "Jansen", "Kovač", "Lovelace", "Müller", "Novák", "O'Neill", "Papadopoulos"),
    *("Rossi", "Smith & Sons", "Turing", "Świątek"),
)
TITLES = {
    "en": (
        "The Quiet Harbour",
        "Fish & Chips",
        'The "Other" Door',
        "Open Water",
        "How </script> Ends",
    ),
    "de": (
        "Der stille Hafen",
        "Über Brücken & Wege",
        "Das „andere“ Haus",
        "Große Maße",
        "Frühling",
    ),
    "fr": ("L'été à la mer", "Pain & fromage", "La porte « bleue »", "Où va le fleuve", "Noël"),
    "es": ("El puerto en calma", "Año & día", "¿Quién llama?", "La canción", "Agua clara"),
    "ko": ("고요한 항구", "빵 & 올리브", '"다른" 문', "바다의 노래", "긴 길"),
    "ja": ("静かな港", "海 & 山", "「青い」扉", "春の歌", "長い道"),
}
SENTENCES = {
    "en": (
        "The old library by the river opens at nine and closes when the last reader leaves.",
        "Nobody remembers who planted the pear trees, but everybody knows when they are ripe.",
        "A small museum shows maps, letters & instruments from three centuries of travel.",
        "The ferry runs twice a day in summer and whenever the weather allows in winter.",
    ),
    "de": (
        "Die alte Bücherei am Fluss öffnet um neun und schließt, wenn der letzte Leser geht.",
        "Niemand weiß mehr, wer die Birnbäume gepflanzt hat, aber alle wissen, wann sie reif sind.",
        "Ein kleines Museum zeigt Karten, Briefe & Geräte aus drei Jahrhunderten.",
        "Die Fähre fährt im Sommer zweimal am Tag, im Winter nur bei gutem Wetter.",
    ),
    "fr": (
        "La vieille bibliothèque au bord du fleuve ouvre à neuf heures, sauf le dimanche.",
        "Personne ne sait qui a planté les poiriers, mais chacun sait quand ils sont mûrs.",
        "Un petit musée montre des cartes, des lettres & des instruments de trois siècles.",
        "Le bac passe deux fois par jour en été, et quand le temps le permet en hiver.",
    ),
    "es": (
        "La vieja biblioteca junto al río abre a las nueve y cierra con el último lector.",
        "Nadie recuerda quién plantó los perales, pero todos saben cuándo maduran.",
        "Un pequeño museo muestra mapas, cartas & instrumentos de tres siglos.",
        "El barco sale dos veces al día en verano, y en invierno cuando puede.",
    ),
    "ko": (
        "강가의 오래된 도서관은 아홉 시에 문을 엽니다.",
        "누가 배나무를 심었는지 아무도 기억하지 못합니다.",
        "작은 박물관에는 지도와 편지 & 도구가 있습니다.",
        "여름에는 배가 하루에 두 번 떠납니다.",
    ),
    "ja": (
        "川のそばの古い図書館は九時に開きます。",
        "梨の木を植えた人を誰も覚えていません。",
        "小さな博物館には地図と手紙 & 道具があります。",
        "夏には船が一日に二回出ます。",
    ),
}
LANGUAGES = tuple(TITLES)


def choose(options: tuple[str, ...], numbers: Random) -> str:
    """Return the option that the next number picks."""
    return options[int(numbers.random() * len(options))]


def person(numbers: Random) -> str:
    return f"{choose(GIVEN_NAMES, numbers)} {choose(FAMILY_NAMES, numbers)}"


def title(language: str, numbers: Random) -> str:
    """Return a title with a number, so that few pages share one."""
    return f"{choose(TITLES[language], numbers)} {int(numbers.random() * 1000)}"


def sentence(language: str, numbers: Random) -> str:
    return choose(SENTENCES[language], numbers)
