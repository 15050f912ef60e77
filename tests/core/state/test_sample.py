"""The sample state: what it holds, when it is rebuilt, what it never replaces."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections import Counter
from pathlib import Path

import pyjson5
import pytest

from strandline.errors import BadRequest, EnvironmentFault, Refused
from strandline.state import file_classes, keys
from strandline.state.file_classes import FileClass
from strandline.state.keys import KeyShape
from strandline.state.sample import SAMPLES, build_sample, ensure_sample
from strandline.state.sample_recipe import talk
from strandline.state.sample_state import StateWriter

NOW = 1_779_278_400_000  # 2026-05-20T12:00:00Z
DAY = 86_400_000


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("samples") / "harbour"
    build_sample(target, "harbour", NOW)
    return target


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("samples") / "damaged"
    build_sample(target, "damaged", NOW)
    return target


def stores(state: Path) -> dict[str, dict[str, dict[str, object]]]:
    return {path.parts[-3]: json.loads(path.read_bytes()) for path in state.glob("agents/*/sessions/sessions.json")}


def rows(state: Path) -> dict[str, dict[str, object]]:
    return {key: row for store in stores(state).values() for key, row in store.items()}


def snapshot(state: Path) -> dict[str, tuple[bytes, int]]:
    files = sorted(path for path in state.rglob("*") if path.is_file())
    return {path.relative_to(state).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def session_files(state: Path, wanted: FileClass) -> list[Path]:
    found = sorted(state.glob("agents/*/sessions/*"))
    return [path for path in found if file_classes.classify(path.name) is wanted]


def is_damaged(path: Path) -> bool:
    lines = path.read_bytes().split(b"\n")
    try:
        for line in lines[:-1]:
            json.loads(line)
    except ValueError:
        return True
    return lines[-1] != b""


def entries(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def whole_transcripts(state: Path) -> list[Path]:
    return [path for path in session_files(state, FileClass.TRANSCRIPT) if not is_damaged(path)]


@pytest.mark.parametrize("name", SAMPLES)
def test_same_time_gives_the_same_bytes_and_times(tmp_path: Path, name: str) -> None:
    """A sample depends on its recipe, its place and the time given, and on nothing else."""
    build_sample(tmp_path / "s", name, NOW)
    first = snapshot(tmp_path / "s")
    build_sample(tmp_path / "s", name, NOW)
    assert snapshot(tmp_path / "s") == first
    assert list(tmp_path.iterdir()) == [tmp_path / "s"]


def test_about_forty_sessions_of_three_agents_and_one_unlisted(harbour: Path) -> None:
    """The configuration lists three agents; a fourth has rows on disk only."""
    config = pyjson5.decode((harbour / "openclaw.json").read_text(encoding="utf-8"))
    listed = {agent["id"] for agent in config["agents"]["list"]}
    on_disk = stores(harbour)
    assert listed == {"main", "work", "lab"}
    assert set(on_disk) - listed == {"night"}
    assert 38 <= sum(len(on_disk[agent]) for agent in listed) <= 46


def test_configuration_is_json5_that_json_cannot_read(harbour: Path) -> None:
    """Comments and bare keys make a reader of plain JSON fail, so nobody gets away with one."""
    text = (harbour / "openclaw.json").read_text(encoding="utf-8")
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    maintenance = pyjson5.decode(text)["session"]["maintenance"]
    assert maintenance["mode"] == "warn"
    assert set(maintenance) == {"mode", "pruneAfter", "maxEntries", "maxDiskBytes"}


def test_every_key_shape_and_kind_is_there(harbour: Path) -> None:
    """Whoever looks at the sample sees each kind of session once at least."""
    everything = rows(harbour)
    assert {keys.read_key(key).shape for key in everything} == set(KeyShape)
    kinds = {
        keys.read_key(key, chat_type=row.get("chatType"), spawned_by=row.get("spawnedBy")).kind
        for key, row in everything.items()
    }
    assert kinds == set(keys.SessionKind)
    assert max(keys.subagent_depth(key) for key in everything) == 2


def test_every_class_of_file_in_a_sessions_directory_is_there(harbour: Path) -> None:
    """Each name that this era's sessions directories collect has an example."""
    found = {file_classes.classify(path.name) for path in harbour.glob("agents/*/sessions/*")}
    elsewhere = {FileClass.RUN_LOG, FileClass.QUARANTINE, FileClass.SIGNAL_LOG, FileClass.NEWER_STORE}
    assert found == set(FileClass) - elsewhere
    archives = [file_classes.parse_archive(path.name) for path in session_files(harbour, FileClass.ARCHIVE)]
    assert {archive.reason for archive in archives if archive} == {"reset", "deleted", "bak"}
    assert all(archive and archive.archived_ms and archive.archived_ms <= NOW for archive in archives)


def test_exactly_one_transcript_is_damaged_in_three_ways(harbour: Path) -> None:
    """One transcript has a glued line, a run of NUL bytes and a torn end; every other one is whole."""
    hurt = [path for path in session_files(harbour, FileClass.TRANSCRIPT) if is_damaged(path)]
    assert len(hurt) == 1
    data = hurt[0].read_bytes()
    assert data.count(b'}{"type":') == 1
    assert data.count(b"\n" + b"\0" * 412 + b"\n") == 1
    assert not data.endswith(b"\n")


def test_transcripts_are_trees_whose_times_do_not_run_back(harbour: Path) -> None:
    """Ids are unique, parents come first, compactions keep an entry of their own branch, the end is the mtime."""
    for path in whole_transcripts(harbour):
        header, *body = entries(path)
        assert header["type"] == "session"
        seen: dict[str, str | None] = {}
        for entry in body:
            parent = entry["parentId"]
            assert entry["id"] not in seen
            assert parent is None or parent in seen
            seen[str(entry["id"])] = None if parent is None else str(parent)
            if entry["type"] == "compaction":
                branch, at = set[str](), str(parent)
                while at in seen:
                    branch.add(at)
                    at = str(seen[at])
                assert entry["firstKeptEntryId"] in branch
        times = [str(entry["timestamp"]) for entry in [header, *body]]
        assert times == sorted(times)
        last = path.stat().st_mtime_ns // 1_000_000
        assert times[-1] == time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(last // 1000)) + f".{last % 1000:03d}Z"


def test_records_show_everything_a_conversation_can_hold(harbour: Path) -> None:
    """Branches, both kinds of summary, labels, changes, custom entries, thinking, tools, a failure, an image."""
    seen: Counter[str] = Counter()
    for path in whole_transcripts(harbour):
        body = entries(path)[1:]
        parents = Counter(str(entry["parentId"]) for entry in body)
        seen["branch"] += any(children > 1 for children in parents.values())
        for entry in body:
            seen[str(entry["type"])] += 1
            message = entry.get("message")
            if isinstance(message, dict):
                seen["failed tool"] += message.get("isError") is True
                seen[f"stop {message.get('stopReason')}"] += 1
                seen.update(block["type"] for block in message["content"])
    wanted = {"branch", "message", "model_change", "thinking_level_change", "compaction", "branch_summary", "label"}
    wanted |= {"session_info", "custom", "custom_message", "thinking", "toolCall", "image", "failed tool"}
    wanted |= {"stop aborted", "stop error"}
    assert {name for name in wanted if not seen[name]} == set()


def test_usage_rises_to_the_threshold_and_falls_at_each_compaction(harbour: Path) -> None:
    """The largest conversation draws a saw-tooth that the row's counters end."""
    largest = max(whole_transcripts(harbour), key=lambda path: path.stat().st_size)
    assert 900_000 < largest.stat().st_size < 1_500_000
    row = next(row for row in rows(harbour).values() if row.get("sessionFile") == str(largest))
    prompts: list[int] = []
    falls = 0
    for entry in entries(largest)[1:]:
        message = entry.get("message")
        if entry["type"] == "compaction":
            falls += 1
            assert prompts[-1] > 50_000
            prompts.clear()
        elif (
            isinstance(message, dict)
            and message["role"] == "assistant"
            and message["stopReason"] in {"stop", "toolUse"}
        ):
            usage = message["usage"]
            prompts.append(usage["input"] + usage["cacheRead"] + usage["cacheWrite"])
            assert prompts[0] < 26_000
            assert prompts[-1] < 64_000
    assert falls == row["compactionCount"] == 4
    assert prompts[-1] == row["totalTokens"]


def test_rows_show_each_trouble_that_the_brief_of_the_sample_names(harbour: Path) -> None:
    """Missing, moved and dropped rows, fresh and stale counters, a run that goes on and one that failed."""
    everything = rows(harbour)
    missing, moved = set[str](), set[str]()
    for key, row in everything.items():
        stored = row.get("sessionFile")
        if isinstance(stored, str) and not Path(stored).is_file():
            agent = keys.agent_id_of(key)
            here = harbour / "agents" / agent / "sessions" / stored.rsplit("/", 1)[-1].rsplit("\\", 1)[-1]
            (moved if here.is_file() else missing).add(key)
    assert len(missing) == len(moved) == 1
    ids = [str(row["sessionId"]) for row in everything.values() if "sessionId" in row]
    assert len([one for one in ids if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:@-]*", one)]) == 1
    assert sum("sessionId" not in row for row in everything.values()) == 1
    counted = [row for row in everything.values() if "totalTokens" in row]
    assert {row.get("totalTokensFresh") for row in counted} == {True, False, None}
    assert {"running", "failed", "done", "timeout"} <= {row.get("status") for row in everything.values()}
    assert any(int(str(row["totalTokens"])) > 0.9 * int(str(row["contextTokens"])) for row in counted)


def test_checkpoints_are_what_their_rows_say(harbour: Path) -> None:
    """A checkpoint holds exactly the records from before its compaction."""
    found = [item for row in rows(harbour).values() for item in row.get("compactionCheckpoints", ())]
    assert len(found) == len(session_files(harbour, FileClass.CHECKPOINT)) >= 2
    for item in found:
        before = Path(item["preCompaction"]["sessionFile"])
        after = Path(item["postCompaction"]["sessionFile"])
        assert after.read_bytes().startswith(before.read_bytes())
        assert entries(before)[-1]["id"] == item["preCompaction"]["leafId"]
        assert item["postCompaction"]["entryId"] in {entry.get("id") for entry in entries(after)}


def test_earlier_conversations_have_files_and_no_row(harbour: Path) -> None:
    """After a daily reset the old transcript stays: each key's family names the files that no row does."""
    loose = 0
    for key, row in rows(harbour).items():
        *earlier, current = row.get("usageFamilySessionIds", [row.get("sessionId")])
        assert current == row.get("sessionId")
        folder = harbour / "agents" / keys.agent_id_of(key) / "sessions"
        assert all(list(folder.glob(f"{one}.jsonl*")) for one in earlier)
        loose += sum((folder / f"{one}.jsonl").is_file() for one in earlier)
    assert loose >= 5


def test_cron_jobs_state_and_run_logs_belong_together(harbour: Path) -> None:
    """Every job has its state and a run log whose newest lines lead to the sessions of its runs."""
    jobs = json.loads((harbour / "cron/jobs.json").read_bytes())["jobs"]
    states = json.loads((harbour / "cron/jobs-state.json").read_bytes())["jobs"]
    everything = rows(harbour)
    assert [job["id"] for job in jobs] == list(states)
    known = 0
    for job in jobs:
        runs = entries(harbour / "cron" / "runs" / f"{job['id']}.jsonl")
        assert runs == sorted(runs, key=lambda run: int(str(run["ts"])))
        assert {run["status"] for run in runs} <= {"ok", "error"}
        known += sum(run["sessionKey"] in everything for run in runs)
    assert known == sum(keys.read_key(key).shape is KeyShape.CRON_RUN for key in everything)


def test_size_and_speed_stay_small(harbour: Path, tmp_path: Path) -> None:
    """Between 2 and 6 MB, and built in well under a second even on a slow machine."""
    assert 2_000_000 < sum(len(data) for data, _ in snapshot(harbour).values()) < 6_000_000
    started = time.perf_counter()
    build_sample(tmp_path / "harbour", "harbour", NOW)
    assert time.perf_counter() - started < 2


def test_talk_is_varied() -> None:
    """The conversations have enough different lines to read like people at work."""
    themes = talk().themes.values()
    exchanges = [exchange for theme in themes for exchange in theme.exchanges]
    assert len({exchange.user for exchange in exchanges}) >= 60
    assert len({exchange.reply for exchange in exchanges}) >= 60
    assert {name for exchange in exchanges for name in exchange.tools} == set(talk().tools)


def test_nothing_looks_like_a_secret_or_a_real_person(harbour: Path) -> None:
    """No keys or tokens; addresses end in .example and numbers come from the range kept for fiction."""
    text = b"\n".join(data for data, _ in snapshot(harbour).values()).decode()
    secrets = (
        r"sk-[A-Za-z0-9]{8}|gh[pousr]_|xox[abp]-|AKIA[A-Z0-9]|BEGIN [A-Z ]*PRIVATE|Bearer |api_?key|password|token\""
    )
    assert re.findall(secrets, text) == []
    assert {host for host in re.findall(r"[\w.]+@([\w.]+\w)", text) if not host.endswith(".example")} == set()
    assert {host for host in re.findall(r"https?://([\w.]+\w)", text) if not host.endswith(".example")} == set()
    assert {number for number in re.findall(r"\+44\d+", text) if not number.startswith("+447700900")} == set()


def test_damaged_stores_are_damaged_as_promised(damaged: Path) -> None:
    """One store ends inside a string, one is empty beside a whole temporary copy, one is fine; so is the config."""
    folders = {path.name: path / "sessions" for path in (damaged / "agents").iterdir()}
    assert set(folders) == {"main", "work", "lab"}
    assert len(json.loads((folders["main"] / "sessions.json").read_bytes())) == 5
    cut = (folders["work"] / "sessions.json").read_text(encoding="utf-8")
    with pytest.raises(json.JSONDecodeError, match="Unterminated string"):
        json.loads(cut)
    assert (folders["lab"] / "sessions.json").read_bytes() == b""
    copies = session_files(damaged, FileClass.STORE_TEMPORARY)
    assert [path.parent for path in copies] == [folders["lab"]]
    assert len(json.loads(copies[0].read_bytes())) == 3
    assert all(list(folder.glob("*.jsonl")) for folder in folders.values())
    assert "maintenance" in pyjson5.decode((damaged / "openclaw.json").read_text(encoding="utf-8"))["session"]
    assert [path for path in session_files(damaged, FileClass.TRANSCRIPT) if is_damaged(path)] == []


@pytest.mark.parametrize(
    ("days", "touched", "rebuild", "built_again"),
    [
        (6, False, False, False),
        (8, False, False, True),
        (8, True, False, False),
        (-2, False, False, True),
        (-2, True, False, False),
        (0, True, True, True),
    ],
)
def test_a_sample_is_rebuilt_when_old_and_untouched_or_on_request(
    tmp_path: Path,
    days: int,
    *,
    touched: bool,
    rebuild: bool,
    built_again: bool,
) -> None:
    """Ages would look stale after a week, but what somebody worked on stays."""
    target = ensure_sample(tmp_path, "damaged", NOW)
    assert target == tmp_path / "samples" / "damaged"
    if touched:
        (target / "agents" / "main" / "sessions" / "notes.txt").write_text("mine", encoding="utf-8")
    before = snapshot(target)
    later = NOW + days * DAY + 1
    assert ensure_sample(tmp_path, "damaged", later, rebuild=rebuild) == target
    assert (snapshot(target) != before) is built_again
    marker = json.loads((target / ".strandline-sample.json").read_bytes())
    assert marker["builtMs"] == (later if built_again else NOW)


def test_a_changed_time_counts_as_a_touch(tmp_path: Path) -> None:
    """Even a file of the same size and name keeps the sample from being replaced."""
    target = ensure_sample(tmp_path, "damaged", NOW)
    os.utime(target / "openclaw.json", (NOW / 1000, NOW / 1000))
    before = snapshot(target)
    ensure_sample(tmp_path, "damaged", NOW + 9 * DAY)
    assert snapshot(target) == before


def test_another_recipe_version_is_rebuilt(tmp_path: Path) -> None:
    """A sample from an older release makes room for the new recipe at once."""
    target = ensure_sample(tmp_path, "damaged", NOW)
    marker = target / ".strandline-sample.json"
    older = json.loads(marker.read_bytes()) | {"recipeVersion": 0}
    marker.write_text(json.dumps(older), encoding="utf-8")
    ensure_sample(tmp_path, "damaged", NOW + 5)
    assert json.loads(marker.read_bytes())["builtMs"] == NOW + 5


@pytest.mark.parametrize("marker", [None, "", "{}", "[1]", '{"recipe": 7}'])
def test_a_directory_that_is_not_ours_is_never_replaced(tmp_path: Path, marker: str | None) -> None:
    """Without a marker of ours the directory is somebody's state, whatever it is called."""
    target = tmp_path / "samples" / "harbour"
    target.mkdir(parents=True)
    (target / "openclaw.json").write_text("{}", encoding="utf-8")
    if marker is not None:
        (target / ".strandline-sample.json").write_text(marker, encoding="utf-8")
    before = snapshot(target)
    with pytest.raises(Refused, match="not a sample that Strandline built"):
        ensure_sample(tmp_path, "harbour", NOW, rebuild=True)
    assert snapshot(target) == before
    assert [path.name for path in target.parent.iterdir()] == ["harbour"]


def test_a_file_or_a_link_in_its_place_is_never_replaced(tmp_path: Path) -> None:
    """A file is not a sample; a link to one may lead anywhere."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(Refused):
        build_sample(tmp_path / "file", "damaged", NOW)
    build_sample(tmp_path / "real", "damaged", NOW)
    try:
        (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    except OSError:
        pytest.skip("this system does not let us make links")
    with pytest.raises(Refused):
        build_sample(tmp_path / "link", "damaged", NOW)


def test_an_interrupted_build_leaves_the_old_sample_and_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk ends as one sentence; whoever looks still sees the sample that was there."""
    target = ensure_sample(tmp_path, "harbour", NOW)
    before = snapshot(target)

    def full(_self: StateWriter) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(StateWriter, "_cron", full)
    with pytest.raises(EnvironmentFault, match=r"Cannot build the sample at .*: no space left on device"):
        ensure_sample(tmp_path, "harbour", NOW + 1, rebuild=True)
    assert snapshot(target) == before
    assert [path.name for path in target.parent.iterdir()] == ["harbour"]


def test_a_failed_swap_puts_the_old_sample_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the new directory cannot take its name, the old one gets it back."""
    target = ensure_sample(tmp_path, "damaged", NOW)
    before = snapshot(target)
    rename = Path.rename

    def stubborn(self: Path, goal: Path) -> Path:
        if self.name == "new":
            raise PermissionError(13, "Permission denied")
        return rename(self, goal)

    monkeypatch.setattr(Path, "rename", stubborn)
    with pytest.raises(EnvironmentFault, match="permission denied"):
        build_sample(target, "damaged", NOW + 1)
    assert snapshot(target) == before
    assert [path.name for path in target.parent.iterdir()] == ["damaged"]


def test_leftovers_of_a_killed_build_are_swept_later(tmp_path: Path) -> None:
    """A build that was killed an hour ago is rubbish; one that began a moment ago is somebody's."""
    for name, age in (("old", 3 * 3_600), ("young", 60)):
        left = tmp_path / f".damaged.building-{name}"
        (left / "new").mkdir(parents=True)
        os.utime(left, (NOW / 1000 - age, NOW / 1000 - age))
    build_sample(tmp_path / "damaged", "damaged", NOW)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".damaged.building-young", "damaged"]


def test_an_unknown_name_says_which_there_are(tmp_path: Path) -> None:
    """A typing error ends before anything is written."""
    with pytest.raises(BadRequest, match=r"harbour, damaged"):
        ensure_sample(tmp_path, "harbor", NOW)
    assert list(tmp_path.iterdir()) == []


def test_a_sample_can_be_moved_and_still_be_read(harbour: Path, tmp_path: Path) -> None:
    """A copy of the sample is a state directory like any other."""
    copy = Path(shutil.copytree(harbour, tmp_path / "copy"))
    assert rows(copy) == rows(harbour)
