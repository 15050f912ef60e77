// Opens every transcript of a folder, as a copy, with the real session manager and writes down what it answers.
// Usage: node context_peer.mjs OPENCLAW_MJS FOLDER ANSWERS_JSON
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [openclaw, folder, answers] = process.argv.slice(2);

// The package stands where node would look for it from the program; its inner modules are not exported, so by path.
function packageFolder(start) {
  for (let at = start; ; at = path.dirname(at)) {
    const found = path.join(at, "node_modules", "@earendil-works", "pi-coding-agent");
    if (fs.existsSync(found)) return found;
    if (at === path.dirname(at)) throw new Error(`no pi-coding-agent near ${start}`);
  }
}

const core = path.join(packageFolder(path.dirname(fs.realpathSync(openclaw))), "dist", "core");
const load = (...names) => import(pathToFileURL(path.join(core, ...names)).href);
const { SessionManager } = await load("session-manager.js");
const { estimateTokens, estimateContextTokens } = await load("compaction", "compaction.js");
const { convertToLlm } = await load("messages.js");

function flat(roots) {
  const found = [];
  const stack = roots.map((node) => [0, node]).reverse();
  while (stack.length > 0) {
    const [depth, node] = stack.pop();
    found.push([depth, node.entry.id, node.entry.type, node.label ?? null]);
    stack.push(...node.children.map((child) => [depth + 1, child]).reverse());
  }
  return found;
}

function context(session) {
  const { messages, thinkingLevel, model } = session.buildSessionContext();
  return {
    messages,
    thinkingLevel,
    model,
    contextTokens: estimateContextTokens(messages),
    perMessageTokens: messages.map(estimateTokens),
    sentRoles: convertToLlm(messages).map((message) => message.role),
  };
}

function ask(file) {
  const session = SessionManager.open(file);
  const ids = session.getEntries().map((entry) => entry.id);
  const answer = {
    ids,
    context: context(session),
    tree: {
      leafId: session.getLeafId(),
      sessionId: session.getSessionId(),
      sessionName: session.getSessionName() ?? null,
      header: session.getHeader(),
      entryCount: ids.length,
      branchIds: session.getBranch().map((entry) => entry.id),
      treeFlat: flat(session.getTree()),
    },
  };
  if (ids.length > 0) {
    answer.at = ids[Math.floor(ids.length / 2)];
    session.branch(answer.at);
    answer.contextAt = context(session);
  }
  return answer;
}

const found = {};
for (const name of fs.readdirSync(folder)) {
  // It rewrites older versions, and files without a header, the moment it opens them.
  const copy = path.join(path.dirname(answers), name);
  fs.copyFileSync(path.join(folder, name), copy);
  found[name] = ask(copy);
}
fs.writeFileSync(answers, JSON.stringify(found));
