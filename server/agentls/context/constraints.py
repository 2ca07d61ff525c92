"""What a user says must or must not be done, found in their words and kept as they wrote it.

It works by words that people use for it, in English and the basics of German, French and Spanish.
Taking a sentence too many costs a few tokens, one too few costs the user's trust: in doubt it is
taken. What was pasted (fenced code, logs, diffs) is nobody's wish and is left out.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator

from agentls.context.room import cut_middle
from agentls.state.measure import tokens_of_text

MOST_READ = 200_000
"""Characters of one message: beyond that it is something pasted, whatever it looks like."""
LONGEST = 1_000
"""Characters of a sentence, or of one with the list it introduces: no one writes longer ones."""
ITEM_TOKENS = 3
"""Of a line in a list besides its text."""
OLDEST_SHARE = 2 / 3
"""Of the room for constraints, for the oldest ones."""


def constraints(text: str) -> tuple[str, ...]:
    """Return the sentences and list lines that say what must or must not be done, in their order.

    Word for word, but for a line break within a sentence, which becomes a space. A sentence that
    ends in a colon comes with the list below it; under a heading such as "Rules:" every line of
    the list counts. A sentence that lifts a constraint counts as one too, see `lifts`.
    """
    found: dict[str, None] = {}
    lines = _Lines(text[:MOST_READ])
    for paragraph in lines.paragraphs():
        for sentence in _short(_sentences(paragraph)):
            if _HEADING.search(sentence):
                found |= dict.fromkeys(lines.list_below())
            elif is_constraint(sentence):
                below = lines.list_below() if sentence.endswith(":") else []
                found[_with_list(sentence, below)] = None
    return tuple(found)


def is_constraint(sentence: str) -> bool:
    """Whether a sentence says what must or must not be done, or lifts what was said before."""
    plain = sentence.replace("\u2019", "'")
    if _WONDERS.search(plain):
        return False
    return bool(_DEMANDS.search(_DESCRIBES.sub(" ", plain)) or lifts(plain))


def lifts(sentence: str) -> bool:
    """Whether a sentence allows what was forbidden, or takes back what was demanded."""
    return bool(_LIFTS.search(sentence.replace("\u2019", "'")))


def meaning(sentence: str) -> tuple[str, ...]:
    """Return the words that matter in a sentence: two with the same in a row mean the same.

    All ways to say "not" are one word, so that the same with and without it differ.
    """
    plain = _NEGATIONS.sub(" not ", sentence.replace("\u2019", "'").casefold())
    return tuple(word for word in _WORD.findall(plain) if word not in _FILLERS)


def gathered(sentences: Iterable[str], tokens: int) -> tuple[str, ...]:
    """Return constraints without repeats, oldest first, in at most `tokens`.

    What is repeated stays where it was said first. If something was lifted in between, it stands
    again where it was said last, as the order says what holds. Where there is no room, first
    those go that mean the same as an older one, then those between the oldest, which have two
    thirds of the room because nothing else remembers them, and the newest. The first stays always.
    """
    said = _without_repeats(sentences, _as_written)
    if _tokens(said) > tokens:
        said = _without_repeats(said, meaning)
    if _tokens(said) <= tokens:
        return tuple(said)
    first = cut_middle(said[0], tokens - ITEM_TOKENS)
    oldest = [first, *_fitting(said[1:], int(tokens * OLDEST_SHARE) - _tokens([first]))]
    newer = said[len(oldest) :]
    newest = reversed(_fitting(reversed(newer), tokens - _tokens(oldest)))
    # What set two equal ones apart may be gone.
    return tuple(_without_repeats([*oldest, *newest], _as_written))


def _without_repeats(sentences: Iterable[str], key: Callable[[str], Hashable]) -> list[str]:
    before, after = None, list(sentences)
    while after != before:  # it gets shorter each time
        before, after = after, _with_fewer_repeats(after, key)
    return after


def _with_fewer_repeats(sentences: list[str], key: Callable[[str], Hashable]) -> list[str]:
    """Keep of equal ones the first, and the last that comes after one of the other kind."""
    kept: dict[tuple[Hashable, bool], str] = {}
    said_at: dict[Hashable, int] = {}
    latest = {True: -1, False: -1}
    for at, sentence in enumerate(sentences):
        what, lifting = key(sentence), lifts(sentence)
        again = what in said_at
        if again and latest[not lifting] < said_at[what]:
            continue
        kept.pop((what, again), None)
        kept[what, again] = sentence
        said_at[what] = latest[lifting] = at
    return list(kept.values())


def _as_written(sentence: str) -> str:
    return " ".join(sentence.split())


def _fitting(sentences: Iterable[str], tokens: int) -> list[str]:
    """Return the first ones, as many as fit."""
    fitting: list[str] = []
    for sentence in sentences:
        tokens -= _tokens([sentence])
        if tokens < 0:
            break
        fitting.append(sentence)
    return fitting


def _tokens(sentences: Iterable[str]) -> int:
    return sum(tokens_of_text(sentence) + ITEM_TOKENS for sentence in sentences)


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_CLAUSE = r"(?:^|[,;:(\u2013\u2014-]\s*|\b(?:and|but|or|then|please|with|use|add|make|und|et|y)\s+)"
"""Where a clause begins: "keep" and "no" are demands there, and seldom elsewhere."""

_DEMANDS = _any_of(
    # English
    r"\b(?:never|always|must|mustn't|avoid|forbidden|prohibited|only|without|unless|except)\b",
    r"\b(?:do not|don't|dont|may not|shall not|should not|shouldn't|cannot|can't)\b",
    r"\b(?:not (?:allowed|permitted)|allowed to|make sure|ensure|be sure to|remember to)\b",
    r"\b(?:instead of|rather than|at most|at least|no (?:more|longer|less|fewer) than)\b",
    r"\b(?:from now on|nothing else|hands off|stay away|stick to|prefer|required)\b",
    r"\bleave\b.{0,200}\b(?:alone|untouched|unchanged|as (?:is|they are|it is)|out)\b",
    r"\b(?:stop|quit) \w+ing\b",
    _CLAUSE + r"keep\b",
    _CLAUSE + r"no(?:t)? (?!idea\b|problem\b|one\b|matter\b|worries\b|thanks\b|doubt\b|way\b)\w",
    # German
    r"\b(?:nie|niemals|nicht|immer|nur|ohne|muss|musst|m\u00fcssen|muessen|darf|darfst|d\u00fcrfen"
    r"|sollst|soll|sollen|vermeide|vermeiden|h\u00f6chstens|mindestens|anstatt|verboten)\b",
    r"\b(?:kein(?:e[mnrs]?)?|statt)\s+\w",
    r"\blass(?:e|en)?\b.{0,200}\b(?:in ruhe|unver\u00e4ndert|wie (?:es|sie) (?:ist|sind))\b",
    # French
    r"\b(?:jamais|toujours|seulement|uniquement|interdit|il faut|doit|doivent|dois|devez)\b",
    r"\b(?:ne\s|n').{0,200}\b(?:pas|rien|plus|que|aucun|aucune)\b",
    r"\b(?:\u00e9vite[rz]?|au moins|au plus|au lieu de|pas de|sans (?!serif))",
    # Spanish
    r"\b(?:nunca|jam\u00e1s|siempre|solo|s\u00f3lo|solamente|\u00fanicamente|prohibido|debe[ns]?)\b",
    r"\b(?:evita[r]?|hay que|al menos|como m\u00e1ximo|en (?:lugar|vez) de)\b",
    r"\bsin \w+(?:ar|er|ir)\b",
)

_LIFTS = _any_of(
    r"\byou (?:may|can|could|are allowed to)\b(?!'t| not)(?![^?]*\?\s*$)",
    r"\b(?:feel free|go ahead|no longer|any ?more|never ?mind|after all)\b",
    r"\bit(?:'s| is) (?:ok|okay|fine|all right|alright|allowed)\b",
    r"\b(?:forget|ignore|scrap|drop) (?:about )?(?:the|my|that|what|those|this) \w+",
    r"\bdu (?:darfst|kannst)\b|\btu peux\b|\bvous pouvez\b|\bpuedes\b|\bya no\b",
)

_DESCRIBES = _any_of(
    r"\b(?:i|we) (?:really )?(?:do not|don't|dont) "
    r"(?:know|think|understand|see|remember|get|mind)\b",
    r"\b(?:i|we|you|they|it) (?:can't|cannot) (?:see|find|tell|remember|reproduce|believe)\b",
    r"\b(?:it|this|that|which|he|she) (?:only|always|never)\b",
    r"\b(?:always|never) (?!miss\b|pass\b|less\b|access\b|process\b)\w+s\b",
    r"\b(?:the|not|if|was|is|are|were) only\b",
    r"\bexcept (?:that|as)\b",
    r"\bich (?:wei\u00df|weiss|verstehe|sehe|glaube) (?:\w+ )?nicht\b",
    r"\b(?:geht|funktioniert|l\u00e4uft|klappt|passiert) (?:\w+ )?nicht\b",
    r"\bje (?:ne|n') ?(?:sais|comprends|vois) (?:pas|plus)\b",
    r"\b\u00e7a ne (?:marche|fonctionne) (?:pas|plus)\b",
)
"""Phrases that have such a word in them and demand nothing."""

_WONDERS = re.compile(
    r"^(?:and |so |but )?(?:why|how come|what|when|where|who|which|warum|wieso|pourquoi"
    r"|\u00bfpor qu\u00e9)\b.*\?$",
    re.IGNORECASE | re.DOTALL,
)

_HEADING = re.compile(
    r"^(?:#+\s*)?(?:\w+ ){0,3}(?:constraints?|rules?|restrictions?|requirements?|don'?ts|regeln"
    r"|vorgaben|r\u00e8gles|contraintes|reglas|restricciones)\b(?:[^:.!?]{0,40}:|\s*)$",
    re.IGNORECASE,
)

_NEGATIONS = re.compile(r"\b(?:do(?:es)? not|don'?t|doesn't|must not|mustn't|never|avoid|not|no)\b")
_WORD = re.compile(r"[^\s,;:!?()\"'`]*[^\s,;:!?()\"'`.]")
_FILLERS = frozenset(
    [
        "a",
        "again",
        "also",
        "an",
        "and",
        "any",
        "auch",
        "bitte",
        "but",
        "ever",
        "just",
        "ok",
        "please",
    ]
)


def _with_list(sentence: str, below: list[str]) -> str:
    """Return a sentence with as much of the list it introduces as is not too long."""
    for item in below:
        longer = f"{sentence}\n- {item}"
        if len(longer) > LONGEST:
            break
        sentence = longer
    return sentence


_ABBREVIATIONS = frozenset(
    ["approx", "bzw", "ca", "cf", "e.g", "etc", "fig", "ggf", "i.e", "nr", "p.ej", "p.ex", "vs"]
)
_PIECE = re.compile(
    r"`[^`\n]*`|(?P<end>[.!?\u2026]++[\"')\]\u201d*_]*+(?=\s))|[.!?\u2026]++|[^`.!?\u2026]++|`"
)
"""A code span, what may end a sentence, or neither of them: a dot within a path ends nothing."""
_LAST_WORD = re.compile(r"[\w.]*$")
_LONGEST_ABBREVIATION = 12


def _sentences(paragraph: str) -> Iterator[str]:
    start = 0
    for piece in _PIECE.finditer(paragraph):
        if piece["end"] and not _is_abbreviated(paragraph, piece):
            yield paragraph[start : piece.end()]
            start = piece.end()
    yield paragraph[start:]


def _is_abbreviated(paragraph: str, end: re.Match[str]) -> bool:
    """Whether a dot belongs to the word before it: "e.g.", "z. B."."""
    if end["end"] != ".":
        return False
    before = paragraph[max(0, end.start() - _LONGEST_ABBREVIATION) : end.start()]
    word = _LAST_WORD.search(before)
    last = word.group().casefold() if word else ""
    return last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha())


def _short(sentences: Iterable[str]) -> Iterator[str]:
    """Yield those that a person would write, each in one line."""
    for sentence in sentences:
        if len(sentence) <= LONGEST and (line := _BREAK.sub(" ", sentence).strip()):
            yield line


_BREAK = re.compile(r"[ \t]*\n\s*")
_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)")
_ITEM = re.compile(r"^\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_QUOTE = re.compile(r"^\s*>+\s?")
_TITLE = re.compile(r"^\s*#{1,6}\s")
_PASTED = re.compile(
    r"^\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d"  # a log's line
    r"|^\s*\[?\d\d:\d\d:\d\d"
    r"|^\s*\[?(?:DEBUG|INFO|ERROR|FATAL|TRACE|CRITICAL)(?:\]|:|\s)|^\s*\[WARN(?:ING)?\]"
    r"|^\s*(?:Traceback \(|File \"|at \S+ ?\(|E {2,}|FAILED |PASSED |npm (?:ERR|WARN)|>>> |\$ )"
    r"|^(?:[\w.]*(?:Error|Exception|Interrupt)|[\w.]+Warning)\b: "
    r"|^error(?:\[\w+\])?: |^\S+?:\d+(?::\d+)?: "  # a compiler's or grep's
    r"|^(?:@@ |diff --git |\+\+\+ |--- )"
    r"|^\s*(?:[{}|]|//|/\*|\*/|#!)|[;{]\s*$"  # code
    r"|^\s*(?:import \w+$|from \S+ import |def \w+\(|class \w+[(:]|(?:const|let|var) \w+ =)"
    r"|^\t|^ {4,}\S+\("
)
"""A line that people paste and do not write."""


class _Lines:
    """The lines of a message, taken as paragraphs; a list's items are paragraphs of their own."""

    def __init__(self, text: str) -> None:
        self._blocks = list(_blocks(_wished(text.splitlines())))
        self._next = 0

    def paragraphs(self) -> Iterator[str]:
        while self._next < len(self._blocks):
            self._next += 1
            yield self._blocks[self._next - 1][1]

    def list_below(self) -> list[str]:
        """Take the list that comes next; empty where something else does."""
        items: list[str] = []
        while self._next < len(self._blocks) and self._blocks[self._next][0]:
            items.append(self._blocks[self._next][1])
            self._next += 1
        return list(_short(items))


def _wished(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that the user wrote, an empty one in place of what was pasted."""
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if closes else fence
            yield ""
        elif mark:
            fence = mark[1]
            yield ""
        else:
            yield "" if _PASTED.search(line) else line


def _blocks(lines: Iterable[str]) -> Iterator[tuple[bool, str]]:
    """Yield paragraphs and items of lists, each with whether it is an item."""
    block: list[str] = []
    is_item = False
    for raw in (*lines, ""):
        line = _QUOTE.sub("", raw)
        item = _ITEM.match(line)
        title = _TITLE.match(line)
        if (not line.strip() or item or title) and block:
            yield is_item, "\n".join(block)
            block = []
        if title:
            yield False, line.strip()
        elif line.strip():
            is_item = bool(item) if not block else is_item
            block.append(item[1] if item else line)
