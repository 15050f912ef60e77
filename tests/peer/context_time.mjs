// Times the real session manager: opens one transcript and builds its context, again and again in this process.
// Usage: node context_time.mjs OPENCLAW_MJS TRANSCRIPT RUNS; prints {"seconds": [...], "messages": n}.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [openclaw, file, runs] = process.argv.slice(2);

// As in context_peer.mjs, which runs on import: the inner modules are not exported, so by path.
function packageFolder(start) {
  for (let at = start; ; at = path.dirname(at)) {
    const found = path.join(at, "node_modules", "@earendil-works", "pi-coding-agent");
    if (fs.existsSync(found)) return found;
    if (at === path.dirname(at)) throw new Error(`no pi-coding-agent near ${start}`);
  }
}

const core = path.join(packageFolder(path.dirname(fs.realpathSync(openclaw))), "dist", "core");
const { SessionManager } = await import(pathToFileURL(path.join(core, "session-manager.js")).href);

const seconds = [];
let messages = 0;
for (let turn = 0; turn <= Number(runs); turn++) {
  const began = performance.now();
  const context = SessionManager.open(file).buildSessionContext();
  if (turn > 0) seconds.push((performance.now() - began) / 1000);
  messages = context.messages.length;
}
console.log(JSON.stringify({ seconds, messages }));
