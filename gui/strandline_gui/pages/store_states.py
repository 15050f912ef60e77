"""What the stores of a directory mean for the sessions page: a card, a skeleton, banners, or simply the rows."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from strandline.rows import StoreState
from strandline_gui import wording
from strandline_gui.theme import Concept, Role
from strandline_gui.widgets.banner import BannerText, Choice
from strandline_gui.widgets.page_state import Card

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strandline.rows import DirectoryView, StoreView

_BUSY = frozenset({StoreState.PENDING, StoreState.READING})


class Deeds(Enum):
    """What the cards and banners of the page can ask for."""

    OPEN_SAMPLE = auto()
    OPEN_DIRECTORY = auto()
    RETRY = auto()
    COPY_DETAILS = auto()
    CLEAR_FILTER = auto()


def is_reading(view: DirectoryView) -> bool:
    """Tell whether rows may still come."""
    return any(store.state in _BUSY for store in view.stores)


def read_share(view: DirectoryView, rows: int) -> tuple[str, float | None]:
    """Return how far the reading is, in words and from 0 to 1 where that is known."""
    done = sum(store.state not in _BUSY for store in view.stores)
    words = _tr("{rows} so far").format(rows=f"{rows:,}") if rows else ""
    return words, done / len(view.stores) if len(view.stores) > 1 else None


def damaged_stores(view: DirectoryView) -> tuple[StoreView, ...]:
    """Return the stores that cannot be read."""
    return tuple(store for store in view.stores if store.state is StoreState.DAMAGED)


def newer_stores(view: DirectoryView) -> tuple[StoreView, ...]:
    """Return the stores that live in a database of the newer kind."""
    return tuple(store for store in view.stores if store.state is StoreState.NEWER)


def card_without_rows(view: DirectoryView, act: Callable[[Deeds], Callable[[], None]]) -> Card:
    """Say why a directory that has been read shows no session."""
    damaged, newer = damaged_stores(view), newer_stores(view)
    if damaged:
        return damage_card(damaged, act)
    if newer:
        return Card(
            concept=Concept.NEWER,
            heading=_tr("The sessions live in the newer store"),
            place="\n".join(store.remark or store.path for store in newer),
            text=_tr("They are all there; nothing was changed in the database."),
            choices=(
                Choice(
                    _tr("Open another directory…"),
                    act(Deeds.OPEN_DIRECTORY),
                    primary=True,
                    concept=Concept.DIRECTORY,
                ),
            ),
        )
    return Card(
        concept=Concept.EMPTY,
        heading=_tr("No sessions here yet"),
        place=view.path,
        text=_tr("A session appears with the first message that an agent answers."),
        choices=(Choice(_tr("Open the sample"), act(Deeds.OPEN_SAMPLE), primary=True, concept=Concept.SAMPLE),),
    )


def damage_card(damaged: tuple[StoreView, ...], act: Callable[[Deeds], Callable[[], None]]) -> Card:
    """Say that nothing can be read, where, and what to do."""
    recovery = [name for store in damaged for name in store.recovery]
    text = _tr("The transcripts beside it stay on disk, unharmed. Strandline changes nothing here.")
    if recovery:
        text += " " + _tr("These files may hold an earlier copy of it: {names}.").format(names=", ".join(recovery))
    heading = (
        _tr("The store of agent {agent} cannot be read").format(agent=damaged[0].agent_id)
        if len(damaged) == 1
        else _tr("{count} stores cannot be read").format(count=len(damaged))
    )
    return Card(
        concept=Concept.DAMAGED,
        role=Role.BAD,
        heading=heading,
        place=details_of(damaged),
        text=text,
        choices=(
            Choice(_tr("Retry"), act(Deeds.RETRY), primary=True, concept=Concept.RETRY),
            Choice(_tr("Copy details"), act(Deeds.COPY_DETAILS), concept=Concept.COPY),
        ),
    )


def failure_card(sentence: str, act: Callable[[Deeds], Callable[[], None]]) -> Card:
    """Say that the directory could not be opened."""
    return Card(
        concept=Concept.NO_DIRECTORY,
        role=Role.BAD,
        heading=_tr("This directory cannot be opened"),
        place=sentence,
        text=_tr("Open another directory, or look at the sample first."),
        choices=(
            Choice(_tr("Open directory…"), act(Deeds.OPEN_DIRECTORY), primary=True, concept=Concept.DIRECTORY),
            Choice(_tr("Open the sample"), act(Deeds.OPEN_SAMPLE), concept=Concept.SAMPLE),
            Choice(_tr("Retry"), act(Deeds.RETRY), concept=Concept.RETRY),
            Choice(_tr("Copy details"), act(Deeds.COPY_DETAILS), concept=Concept.COPY),
        ),
    )


def no_match_card(text: str, act: Callable[[Deeds], Callable[[], None]]) -> Card:
    """Say that the filter lets nothing through."""
    return Card(
        concept=Concept.FILTER,
        heading=_tr("No session matches"),
        text=_tr("Nothing fits “{text}”.").format(text=text),
        choices=(Choice(_tr("Clear the filter"), act(Deeds.CLEAR_FILTER), primary=True),),
    )


def banners_of(
    view: DirectoryView, act: Callable[[Deeds], Callable[[], None]], *, with_rows: bool
) -> Iterator[BannerText]:
    """Return what has to be known about the rows on show."""
    if view.authority == "remote":
        where = view.remote_url or _tr("another machine")
        yield BannerText(
            concept=Concept.REMOTE,
            role=Role.WARN,
            title=_tr("This machine's files are not what the gateway at {where} uses").format(where=where),
            detail=_tr("The configuration names a remote gateway. What stands here may be old."),
        )
    if with_rows:
        for store in damaged_stores(view):
            yield BannerText(
                concept=Concept.DAMAGED,
                role=Role.BAD,
                title=_tr("The store of agent {agent} cannot be read; its sessions are not in the list").format(
                    agent=store.agent_id
                ),
                detail=store.damage or store.path,
                choices=(
                    Choice(_tr("Copy details"), act(Deeds.COPY_DETAILS)),
                    Choice(_tr("Retry"), act(Deeds.RETRY)),
                ),
                expands=True,
            )
        for store in newer_stores(view):
            yield BannerText(
                concept=Concept.NEWER,
                role=Role.MUTED,
                title=_tr("Agent {agent} also has sessions in the newer store").format(agent=store.agent_id),
                detail=store.remark or store.path,
                expands=True,
            )
    if view.problems:
        more = len(view.problems) - 1
        yield BannerText(
            concept=Concept.WARNING,
            role=Role.WARN,
            title=_tr("The configuration has a problem")
            if not more
            else _tr("The configuration has {count} problems").format(count=more + 1),
            detail=" ".join(view.problems),
            expands=True,
        )


def facts_banner(known: int, total: int) -> BannerText:
    """Say how many rows have their facts."""
    return BannerText(
        concept=Concept.PARTIAL,
        role=Role.MUTED,
        title=_tr("Facts for {known} of {total}").format(known=f"{known:,}", total=f"{total:,}"),
        detail=_tr("Sorting by size waits for the rest."),
    )


def details_of(stores: tuple[StoreView, ...]) -> str:
    """Return what is known of damage, for the card and the clipboard."""
    return "\n".join(store.damage or store.path for store in stores)


def count_of(view: DirectoryView, rows: int) -> str:
    """Return how many sessions there are, for the navigation; a dash where that cannot be known."""
    known = _known_sessions(view, rows)
    return wording.UNKNOWN if not known and damaged_stores(view) else wording.count_text(known)


def summary_of(view: DirectoryView, rows: int, last_change: float | None, now_ms: int) -> tuple[str, ...]:
    """Return the facts of the status bar."""
    facts: list[str] = []
    damaged, known = len(damaged_stores(view)), _known_sessions(view, rows)
    agents = len({store.agent_id for store in view.stores if _speaks(store)})
    if known or not damaged:
        sessions, words = wording.sessions_text(known), wording.agents_text(agents)
        facts.append(_tr("{sessions} in {agents}").format(sessions=sessions, agents=words) if agents else sessions)
    if damaged:
        facts.append(
            _tr("1 store unreadable") if damaged == 1 else _tr("{count} stores unreadable").format(count=damaged)
        )
    if view.bytes_on_disk is not None:
        size = view.bytes_on_disk + sum(store.bytes for store in newer_stores(view))
        facts.append(_tr("{size} on disk").format(size=wording.size_text(size)))
    facts.append(_tr("maintenance mode: {mode}").format(mode=view.maintenance))
    if last_change:
        age = wording.age_text(last_change, now_ms)
        now = wording.age_text(now_ms, now_ms)
        facts.append(_tr("last change just now") if age == now else _tr("last change {age} ago").format(age=age))
    return tuple(facts)


def _speaks(store: StoreView) -> bool:
    """Tell whether a store has anything to say about sessions: it is there, and was readable once."""
    return store.state is not StoreState.MISSING and (store.state is not StoreState.DAMAGED or store.row_count > 0)


def _known_sessions(view: DirectoryView, rows: int) -> int:
    return rows + sum(store.row_count for store in newer_stores(view))


def _tr(text: str) -> str:
    return QCoreApplication.translate("SessionsPage", text)
