"""The files of the sample: stores, transcripts and what lies beside them, cron jobs, the configuration.

Everything is written below ``root``; paths inside the files name ``home``, the place the directory is moved to once it
is complete.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from strandline.state.keys import agent_id_of
from strandline.state.sample_phrases import Phrases, iso
from strandline.state.sample_recipe import MINUTE, SessionPlan, milliseconds
from strandline.state.sample_rows import build_row
from strandline.state.sample_talk import Conversation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from strandline.state.sample_recipe import JobPlan, Loose, Recipe, Talk
    from strandline.state.sample_rows import Row

    Store = dict[str, Row]

_PRIVATE = 0o600  # the real program keeps run logs and pointers from other users
_GONE_PID = 3_999_421  # close to the highest number Linux hands out: nobody's
_LOOSE_SPAN = 3 * 60 * MINUTE
_NUL_RUN = 412
_TRACED = 40  # messages that a trace covers
_EXTENDED = SessionPlan(key="agent:lab:subagent:removed", themes=("survey",), turns=6, solo=True)


class StateWriter:
    """Writes one sample below a directory."""

    def __init__(self, recipe: Recipe, talk: Talk, root: Path, home: Path, now_ms: int) -> None:
        self._recipe = recipe
        self._phrases = Phrases(talk, recipe.dice("phrases"))
        self._root = root
        self._home = home
        self._now_ms = now_ms

    def write_harbour(self) -> None:
        """Write the whole recipe."""
        self._configuration()
        for agent_id, plans in self._by_agent(self._recipe.sessions).items():
            store = self._sessions(agent_id, plans)
            self._put(agent_id, "sessions.json", _pretty(store), _newest(store))
            for extra in self._recipe.extras.get(agent_id, ()):
                self._extra(agent_id, extra, store)
        self._cron()

    def write_damaged(self) -> None:
        """Write the few sessions of the second sample, and damage the stores as the recipe says."""
        chosen = self._recipe.damaged
        self._configuration()
        plans = [plan for plan in self._recipe.sessions if plan.key in chosen.sessions]
        for agent_id, own in self._by_agent(plans).items():
            store = self._sessions(agent_id, own)
            whole, mtime_ms = _pretty(store), _newest(store)
            damage = chosen.stores[agent_id]
            if damage == "cut":
                place = b'"sessionFile": "'
                cut = whole.index(place, len(whole) // 2) + len(place) + 9
                self._put(agent_id, "sessions.json", whole[:cut], mtime_ms)
            elif damage == "empty":
                self._put(agent_id, "sessions.json", b"", mtime_ms)
                self._put(agent_id, "sessions.json.4120.tmp", whole, mtime_ms - 40)
            else:
                self._put(agent_id, "sessions.json", whole, mtime_ms)

    def _by_agent(self, plans: Sequence[SessionPlan]) -> dict[str, list[SessionPlan]]:
        agents: dict[str, list[SessionPlan]] = {}
        for plan in plans:
            agents.setdefault(agent_id_of(self._recipe.key_of(plan)), []).append(plan)
        return agents

    def _configuration(self) -> None:
        text = "\n".join([*self._recipe.config, ""])
        self._file(self._root / "openclaw.json", text.encode(), self._now_ms - milliseconds("20d"))

    def _sessions(self, agent_id: str, plans: Sequence[SessionPlan]) -> Store:
        store: Store = {}
        for plan in plans:
            family = self._loose(agent_id, plan)
            store[self._recipe.key_of(plan)] = self._session(agent_id, plan, family)
        return store

    def _session(self, agent_id: str, plan: SessionPlan, family: Sequence[str]) -> Row:
        session_id = self._recipe.session_id(plan)
        end_ms = self._now_ms - milliseconds(plan.age)
        start_ms = end_ms - milliseconds(plan.span)
        if plan.file == "none":
            return build_row(self._recipe, plan, None, start_ms=start_ms, end_ms=end_ms)
        talk = self._converse(plan, session_id, start_ms, end_ms)
        base = f"{session_id}-topic-{plan.via.thread}" if plan.file == "topic" and plan.via else session_id
        path = str(self._home / "agents" / agent_id / "sessions" / f"{base}.jsonl")
        lines = _lines(talk)
        if plan.file != "missing":
            self._put(agent_id, f"{base}.jsonl", _damaged(lines) if plan.damage else b"".join(lines), end_ms)
        if plan.lock:
            lock = {"pid": _GONE_PID, "createdAt": iso(end_ms), "maxHoldMs": 5 * MINUTE, "starttime": 88_123}
            self._put(agent_id, f"{base}.jsonl.lock", _pretty(lock) + b"\n", end_ms)
        if plan.trajectory:
            trace = f"{base}.trajectory.jsonl"
            self._put(agent_id, trace, self._trajectory(self._recipe.key_of(plan), talk), end_ms)
            if plan.trajectory == "pointer":
                pointer = {"traceSchema": "openclaw-trajectory-pointer", "schemaVersion": 1, "sessionId": session_id}
                pointer["runtimeFile"] = path.removesuffix(f"{base}.jsonl") + trace
                name = f"{base}.trajectory-path.json"
                self._put(agent_id, name, _pretty(pointer) + b"\n", start_ms, _PRIVATE)
        row = build_row(self._recipe, plan, talk, start_ms=start_ms, end_ms=end_ms)
        row["sessionFile"] = path
        if plan.file == "moved":
            row["sessionFile"] = f"/Users/keren/.openclaw/agents/{agent_id}/sessions/{base}.jsonl"
        if family:
            row["usageFamilyKey"] = self._recipe.key_of(plan)
            row["usageFamilySessionIds"] = [*family, session_id]
        if plan.checkpoints:
            row["compactionCheckpoints"] = self._checkpoints(agent_id, plan, talk, lines, path)
        return row

    def _loose(self, agent_id: str, plan: SessionPlan) -> list[str]:
        """Write the earlier conversations of a key, oldest first; return their session ids."""
        family: list[str] = []
        loose = sorted((*plan.earlier, *plan.archives), key=lambda item: -milliseconds(item.age))
        for item in loose:
            own = item.reason == "bak"  # lines cut from the conversation that goes on under the same id
            session_id = self._recipe.session_id(plan) if own else self._recipe.uuid_of(f"{plan.key} {item.age}")
            self._loose_file(agent_id, plan, item, session_id)
            if item.reason in {"", "reset"}:
                family.append(session_id)
        return family

    def _loose_file(self, agent_id: str, plan: SessionPlan, item: Loose, session_id: str) -> None:
        end_ms = self._now_ms - milliseconds(item.age)
        shorter = msgspec.structs.replace(plan, turns=item.turns, fill=0, compactions=0, marks=("label",), status="")
        talk = self._converse(shorter, session_id, end_ms - _LOOSE_SPAN, end_ms, name=f"{session_id} {item.age}")
        name = f"{session_id}.jsonl"
        if item.reason:
            stamp = min(end_ms + 47 * MINUTE, self._now_ms)
            name += f".{item.reason}.{iso(stamp).replace(':', '-')}"
        self._put(agent_id, name, b"".join(_lines(talk)), end_ms)

    def _converse(
        self, plan: SessionPlan, session_id: str, start_ms: int, end_ms: int, *, name: str = ""
    ) -> Conversation:
        dice = self._recipe.dice(name or session_id)
        return Conversation(self._recipe, self._phrases, plan, session_id, dice=dice, start_ms=start_ms, end_ms=end_ms)

    def _checkpoints(
        self, agent_id: str, plan: SessionPlan, talk: Conversation, lines: Sequence[bytes], path: str
    ) -> list[Row]:
        """Keep a copy from before each compaction; return what the row says about them."""
        session_id = self._recipe.session_id(plan)
        rows: list[Row] = []
        for number, compaction in enumerate(talk.compactions):
            checkpoint_id = self._recipe.uuid_of(f"checkpoint {session_id} {number}")
            name = f"{session_id}.checkpoint.{checkpoint_id}.jsonl"
            created_ms = compaction.at_ms
            self._put(agent_id, name, b"".join(lines[: compaction.index]), created_ms)
            before = {"sessionId": session_id, "sessionFile": path.replace(f"{session_id}.jsonl", name)}
            after = {"sessionId": session_id, "sessionFile": path, "leafId": compaction.entry_id}
            row: Row = {"checkpointId": checkpoint_id, "sessionKey": self._recipe.key_of(plan)}
            row |= {"sessionId": session_id, "createdAt": created_ms, "reason": "auto-threshold"}
            row |= {"tokensBefore": compaction.before, "tokensAfter": compaction.after, "summary": compaction.summary}
            row |= {
                "firstKeptEntryId": compaction.first_kept,
                "preCompaction": {**before, "leafId": compaction.leaf_id},
            }
            row |= {"postCompaction": {**after, "entryId": compaction.entry_id}}
            rows.append(row)
        return rows

    def _trajectory(self, key: str, talk: Conversation) -> bytes:
        """Trace the last run of a conversation the way the real recorder does."""
        kinds = {"user": "prompt.submitted", "assistant": "model.completed", "toolResult": "tool.result"}
        events: list[tuple[str, str, Row]] = [
            (kinds[str(message["role"])], str(talk.records[place]["timestamp"]), {"content": message["content"]})
            for place, message in talk.messages[-_TRACED:]
        ]
        first, last = events[0][1], events[-1][1]
        events = [("session.started", first, {}), *events, ("session.ended", last, {"status": "success"})]
        session_id = str(talk.records[0]["id"])
        common = {"traceId": session_id, "source": "runtime"}
        where = {"sessionId": session_id, "sessionKey": key, "runId": self._recipe.uuid_of(f"run {session_id}")}
        model = {"provider": talk.model.provider, "modelId": talk.model.id, "modelApi": talk.model.api}
        lines: list[bytes] = []
        for seq, (kind, ts, data) in enumerate(events, 1):
            event: Row = {"traceSchema": "openclaw-trajectory", "schemaVersion": 1, **common, "type": kind, "ts": ts}
            event |= {"seq": seq, "sourceSeq": seq, **where, "workspaceDir": self._recipe.workspace, **model}
            lines.append(msgspec.json.encode({**event, "data": data}) + b"\n")
        return b"".join(lines)

    def _extra(self, agent_id: str, extra: str, store: Store) -> None:
        """Write one of the files that every old sessions directory collects."""
        if extra == "store-backup":
            at_ms = self._now_ms - milliseconds("44d")
            older = dict(list(store.items())[:5])
            self._put(agent_id, f"sessions.json.bak.{at_ms}", _pretty(older), at_ms)
        elif extra == "store-temporary":
            name = f".fs-safe-replace.4120.{self._recipe.uuid_of(extra)}.tmp"
            self._put(agent_id, name, _pretty(store)[:20_480], self._now_ms - milliseconds("9d"))
        elif extra == "note":
            text = b"Keren: the old visitor line was never answered. Leave it until the season is over.\n"
            self._put(agent_id, "notes.txt", text, self._now_ms - milliseconds("30d"))
        elif extra == "repair-backup":
            at_ms = self._now_ms - milliseconds("5d")
            row = next(row for row in store.values() if "sessionFile" in row)
            name = f"{row['sessionId']}.jsonl"
            copied = (self._root / "agents" / agent_id / "sessions" / name).read_bytes()
            self._put(agent_id, f"{name}.bak-4120-{at_ms}", copied[:30_000], at_ms)
        else:
            at_ms = self._now_ms - milliseconds("35d")
            session_id = self._recipe.session_id(_EXTENDED)
            talk = self._converse(_EXTENDED, session_id, at_ms - _LOOSE_SPAN, at_ms)
            self._put(agent_id, f"{session_id}.trajectory.jsonl", self._trajectory(_EXTENDED.key, talk), at_ms)

    def _cron(self) -> None:
        jobs: list[Row] = []
        states: Store = {}
        for job in self._recipe.jobs:
            job_id = self._recipe.resolve(job.id)
            created_ms = self._now_ms - milliseconds("80d")
            schedule = {"kind": "cron", "expr": job.expr, "tz": "Europe/London"}
            entry: Row = {"id": job_id, "agentId": job.agent, "name": job.name, "enabled": True}
            entry |= {"createdAtMs": created_ms, "updatedAtMs": created_ms, "schedule": schedule}
            entry |= {"sessionTarget": "isolated", "wakeMode": "now"}
            entry["payload"] = {"kind": "agentTurn", "message": job.message}
            to = {"mode": "announce", "channel": "telegram", "to": job.to} if job.to else {"mode": "none"}
            jobs.append({**entry, "delivery": to, "state": {}})
            runs = self._runs(job, job_id)
            last = runs[-1]
            failed = last["status"] == "error"
            state: Row = {"nextRunAtMs": last["nextRunAtMs"], "lastRunAtMs": last["runAtMs"]}
            state |= {"lastRunStatus": last["status"], "lastDurationMs": last["durationMs"]}
            state |= {"consecutiveErrors": len(job.fails) if failed else 0}
            if failed:
                state["lastError"] = last["error"]
            identity = msgspec.json.encode({"version": 1, "enabled": True, "schedule": schedule}).decode()
            states[job_id] = {"updatedAtMs": last["ts"], "scheduleIdentity": identity, "state": state}
            log = b"".join(msgspec.json.encode(run) + b"\n" for run in runs)
            self._file(self._root / "cron" / "runs" / f"{job_id}.jsonl", log, _int(last["ts"]), _PRIVATE)
        made_ms = self._now_ms - milliseconds("80d")
        self._file(self._root / "cron" / "jobs.json", _pretty({"version": 1, "jobs": jobs}), made_ms)
        newest_ms = max(_int(state["updatedAtMs"]) for state in states.values())
        state_file = _pretty({"version": 1, "jobs": states})
        self._file(self._root / "cron" / "jobs-state.json", state_file, newest_ms)

    def _runs(self, job: JobPlan, job_id: str) -> list[Row]:
        """Return the lines of a job's run log, oldest first; the newest belong to the sessions of the recipe."""
        dice = self._recipe.dice(job_id)
        theme = self._phrases.talk.themes["digest"]
        prefix = self._recipe.resolve(job.sessions)
        known = [plan for plan in self._recipe.sessions if prefix and self._recipe.key_of(plan).startswith(prefix)]
        runs: list[Row] = []
        for back in range(job.runs):
            ts = self._now_ms - milliseconds(job.age) - back * milliseconds(job.every)
            planned = known[back] if back < len(known) else None
            session_id = self._recipe.session_id(planned) if planned else self._recipe.uuid_of(f"{job_id} {back}")
            duration = dice.randint(41_000, 236_000)
            run: Row = {"ts": ts, "jobId": job_id, "action": "finished"}
            if back in job.fails:
                run |= {"status": "error", "error": "The model is overloaded. Try again later."}
                run |= {"delivered": False, "deliveryStatus": "not-delivered"}
            else:
                summary = theme.exchanges[0].reply.format_map(self._phrases.slots(dice))
                run |= {"status": "ok", "summary": summary}
                run |= {"delivered": bool(job.to), "deliveryStatus": "delivered" if job.to else "not-requested"}
            key = f"agent:{job.agent}:cron:{job_id}:run:{session_id}"
            run |= {"sessionId": session_id, "sessionKey": key, "runAtMs": ts - duration, "durationMs": duration}
            run |= {"nextRunAtMs": ts - duration + milliseconds(job.every)}
            run |= {"model": "claude-sonnet-4-6", "provider": "anthropic"}
            counts = (dice.randint(800, 4_000), dice.randint(200, 900), dice.randint(9_000, 15_000))
            usage = {"input_tokens": counts[0], "output_tokens": counts[1], "total_tokens": sum(counts)}
            runs.append({**run, "usage": {**usage, "cache_read_tokens": counts[2], "cache_write_tokens": 0}})
        return runs[::-1]

    def _put(self, agent_id: str, name: str, data: bytes, mtime_ms: int, mode: int | None = None) -> None:
        self._file(self._root / "agents" / agent_id / "sessions" / name, data, mtime_ms, mode)

    @staticmethod
    def _file(path: Path, data: bytes, mtime_ms: int, mode: int | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if mode is not None:
            path.chmod(mode)
        os.utime(path, ns=(mtime_ms * 1_000_000, mtime_ms * 1_000_000))


def _lines(talk: Conversation) -> list[bytes]:
    return [msgspec.json.encode(record) + b"\n" for record in talk.records]


def _damaged(lines: Sequence[bytes]) -> bytes:
    """Glue two records together, lose one to NUL bytes, and tear the last one off in mid-write."""
    damaged = list(lines)
    glue, lost = len(lines) // 3, 2 * len(lines) // 3
    damaged[glue] = damaged[glue].rstrip(b"\n")
    damaged[lost] = b"\0" * _NUL_RUN + b"\n"
    return b"".join([*damaged, lines[-1][: len(lines[-1]) * 2 // 3]])


def _pretty(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


def _newest(store: Store) -> int:
    return max(_int(row["updatedAt"]) for row in store.values())


def _int(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no number")
    return value
