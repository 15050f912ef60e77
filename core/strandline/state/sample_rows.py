"""The rows of the sample's stores: what the real program keeps about a session (spec 2026.5 §2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strandline.state.sample_recipe import Model, Recipe, SessionPlan, Via
    from strandline.state.sample_talk import Conversation

_STALE_SHARE = 0.85  # a count from some calls ago
_REPORT_TOOLS = ("exec", "read", "edit", "web_fetch", "message", "sessions_list", "cron", "camera_snapshot")

Row = dict[str, object]


def build_row(recipe: Recipe, plan: SessionPlan, talk: Conversation | None, *, start_ms: int, end_ms: int) -> Row:
    """Return the row of a planned session.

    Args:
        recipe: where the texts come from.
        plan: what the session is.
        talk: its conversation; ``None`` for a row that has no session id yet.
        start_ms: when the session began.
        end_ms: when its last record was written.
    """
    row: Row = {"updatedAt": end_ms}
    if talk is not None:
        session_id = recipe.session_id(plan)
        spoken_ms = min(end_ms, talk.last_user_ms or end_ms)
        row = {"sessionId": session_id, "updatedAt": end_ms, "sessionStartedAt": start_ms}
        row |= {"lastInteractionAt": spoken_ms, "systemSent": True}
    row["chatType"] = plan.chat
    if plan.label:
        row["label"] = plan.label
    if plan.name:
        row["displayName"] = plan.name
        if plan.chat != "direct" and plan.via:
            row |= {"subject": plan.name, "groupId": plan.via.to}
    if plan.via:
        row |= _delivery(plan, plan.via)
    if plan.spawned_by:
        row |= {"spawnedBy": recipe.resolve(plan.spawned_by), "spawnedWorkspaceDir": recipe.workspace}
    if plan.status:
        row |= {"status": plan.status, "startedAt": start_ms}
        if plan.status != "running":
            row |= {"endedAt": end_ms, "runtimeMs": end_ms - start_ms}
    if plan.acp:
        row["acp"] = {**plan.acp, "lastActivityAt": end_ms}
    if talk is not None:
        row |= {"modelProvider": talk.model.provider, "model": talk.model.id}
        row |= _counters(plan, talk)
        if plan.fill or plan.via:
            row["skillsSnapshot"] = _skills(recipe)
            row["systemPromptReport"] = _report(recipe, plan, talk.model, end_ms)
    return {**row, **plan.row}


def _delivery(plan: SessionPlan, via: Via) -> Row:
    thread: Row = {} if via.thread is None else {"threadId": via.thread}
    context: Row = {"channel": via.channel, "to": via.to, "accountId": "default", **thread}
    origin: Row = {"label": plan.name} if plan.name else {}
    origin |= {"provider": via.channel, "surface": via.channel}
    origin |= {"chatType": plan.chat, "from": f"{via.channel}:{via.to}", "to": via.to, "accountId": "default"}
    last: Row = {"lastChannel": via.channel, "lastTo": via.to, "lastAccountId": "default"}
    if via.thread is not None:
        last["lastThreadId"] = via.thread
    return {"channel": via.channel, "origin": origin | thread, "deliveryContext": context, **last}


def _counters(plan: SessionPlan, talk: Conversation) -> Row:
    usage = talk.usage
    counters: Row = {"contextTokens": talk.model.window, "compactionCount": len(talk.compactions)}
    if plan.tokens == "none":
        return {}
    counters |= {"inputTokens": usage.fresh, "outputTokens": usage.output, "cacheRead": usage.cached, "cacheWrite": 0}
    counters["estimatedCostUsd"] = round(talk.dollars, 4)
    if plan.tokens == "stale":
        counters |= {"totalTokens": int(usage.prompt * _STALE_SHARE), "totalTokensFresh": False}
    else:
        counters["totalTokens"] = usage.prompt
        if plan.tokens == "fresh":
            counters["totalTokensFresh"] = True
    return counters


def _skills(recipe: Recipe) -> Row:
    blocks = [
        f"  <skill>\n    <name>{name}</name>\n    <description>{text}</description>\n"
        f"    <location>{recipe.workspace}/skills/{name}/SKILL.md</location>\n  </skill>"
        for name, text in recipe.skills.items()
    ]
    prompt = "\n".join(["<available_skills>", *blocks, "</available_skills>"])
    return {"prompt": prompt, "skills": [{"name": name} for name in recipe.skills], "version": 3}


def _report(recipe: Recipe, plan: SessionPlan, model: Model, at_ms: int) -> Row:
    injected = [
        {
            "name": name,
            "path": f"{recipe.workspace}/{name}",
            "missing": False,
            "rawChars": size,
            "injectedChars": size,
            "truncated": False,
        }
        for name, size in recipe.files.items()
    ]
    project = sum(recipe.files.values())
    prompt = {"chars": project + 9_480, "projectContextChars": project, "nonProjectContextChars": 9_480}
    skills = [{"name": name, "blockChars": 96 + len(text)} for name, text in recipe.skills.items()]
    tools = [
        {"name": name, "summaryChars": 60 + 7 * place, "schemaChars": 410 + 130 * place, "propertiesCount": 2 + place}
        for place, name in enumerate(_REPORT_TOOLS)
    ]
    report: Row = {"source": "run", "generatedAt": at_ms, "sessionId": recipe.session_id(plan)}
    report |= {"sessionKey": recipe.key_of(plan), "provider": model.provider, "model": model.id}
    report |= {"workspaceDir": recipe.workspace, "systemPrompt": prompt, "injectedWorkspaceFiles": injected}
    report["skills"] = {"promptChars": 2_210, "entries": skills}
    report["tools"] = {"listChars": 1_130, "schemaChars": 6_920, "entries": tools}
    return report
