// Makes sessions whose tool calls the real claude-mem observes, while the service keeps their bottles, and looks
// at both sides: no lock error, every row in its bottle within a second, every bottle as a cold render gives it.
import { Database } from "bun:sqlite";
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { startModel } from "./model.mjs";

const WRITES = Number(process.env.WRITES ?? 10_000);
const EACH = 200; // Tool calls of a session; claude-mem writes two rows for each.
const AHEAD = 8; // Calls that may wait for their observation.
const LOOK = 20; // Milliseconds between two looks at database and bottles.
const PATIENCE = 30_000; // Milliseconds for anything to happen at all.

const home = fs.mkdtempSync(path.join(os.tmpdir(), "endless-claude-mem-"));
const data = path.join(home, ".claude-mem");
const state = path.join(home, "state");
const project = path.join(home, ".claude/projects/-w");
fs.mkdirSync(project, { recursive: true });
fs.mkdirSync(data, { recursive: true });
const children = [];
let failed = false;

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const text = (file) => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "");

function fail(why) {
  failed = true;
  console.log(`FAILED: ${why}`);
}

async function until(what, holds) {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await pause(50)) if (await holds()) return true;
  fail(`not within ${PATIENCE / 1000} s: ${what}`);
  return false;
}

function start(name, program, args, environment) {
  const log = fs.openSync(path.join(home, `${name}.log`), "w");
  const env = { PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`, HOME: home, TZ: "UTC", ...environment };
  const child = spawn(program, args, { env, cwd: home, stdio: ["ignore", log, log] });
  children.push(child);
  child.on("exit", (code, signal) => (child.ended = `${code ?? signal}`));
  return child;
}

function freePort() {
  return new Promise((done) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** Runs a command of Endless; what it printed. */
function endless(args, environment = {}) {
  const env = { HOME: home, TZ: "UTC", ENDLESS_HOME: state, ...environment };
  const ran = Bun.spawnSync([process.env.ENDLESS_BIN, ...args], { env, cwd: home });
  return ran.stdout.toString();
}

const model = startModel();
const port = await freePort();
start("worker", process.execPath, [process.env.CLAUDE_MEM_WORKER], {
  CLAUDE_MEM_DATA_DIR: data,
  CLAUDE_CONFIG_DIR: path.join(home, ".claude"),
  CLAUDE_MEM_WORKER_HOST: "127.0.0.1",
  CLAUDE_MEM_WORKER_PORT: String(port),
  CLAUDE_MEM_PROVIDER: "openrouter",
  CLAUDE_MEM_OPENROUTER_API_KEY: "stub",
  CLAUDE_MEM_OPENROUTER_BASE_URL: `http://127.0.0.1:${model}/v1`,
  CLAUDE_MEM_CHROMA_ENABLED: "false",
  CLAUDE_MEM_TELEMETRY_ENABLED: "false",
  DO_NOT_TRACK: "1",
});
start("endless", process.env.ENDLESS_BIN, ["run"], { ENDLESS_HOME: state });

const refused = [];
async function post(route, body) {
  const headers = { "content-type": "application/json" };
  const reply = await fetch(`http://127.0.0.1:${port}/api/sessions/${route}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!reply.ok) refused.push(`${route}: ${reply.status} ${await reply.text()}`);
}

/** A transcript that is written like the client writes one. */
class Transcript {
  constructor(id) {
    this.id = id;
    this.file = path.join(project, `${id}.jsonl`);
    this.rows = 0;
  }
  append(type, content, more = {}) {
    const uuid = (number) => `${this.id.slice(0, 24)}${String(number).padStart(12, "0")}`;
    this.rows += 1;
    const row = {
      parentUuid: this.rows > 1 ? uuid(this.rows - 1) : null, isSidechain: false, type, sessionId: this.id, cwd: "/w",
      version: "2.1.332", uuid: uuid(this.rows), timestamp: new Date().toISOString(),
      message: { role: type, ...more, content },
    };
    fs.appendFileSync(this.file, `${JSON.stringify(row)}\n`);
  }
}

/** What was seen when: the rows of the database, and those of the bottles. */
class Watch {
  constructor() {
    this.database = new Database(path.join(data, "claude-mem.db"), { readonly: true });
    this.database.exec("PRAGMA busy_timeout = 5000");
    this.newest = this.database.prepare(
      "SELECT o.id, s.content_session_id AS session FROM observations o JOIN sdk_sessions s ON s.memory_session_id = o.memory_session_id WHERE o.id > ?",
    );
    this.committed = new Map();
    this.shown = new Map();
    this.counts = new Map();
    this.bottles = new Map();
    this.last = 0;
  }
  look() {
    for (const { id, session } of this.newest.all(this.last)) {
      this.last = Math.max(this.last, id);
      this.committed.set(id, Date.now());
      this.counts.set(session, (this.counts.get(session) ?? 0) + 1);
    }
    const now = Date.now();
    for (const session of this.counts.keys()) {
      const file = path.join(state, "bottles", `${session}.md`);
      const changed = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs;
      if (changed === undefined || this.bottles.get(session) === changed) continue;
      this.bottles.set(session, changed);
      for (const [, id] of text(file).matchAll(/^- \[#(\d+)\] /gm)) if (!this.shown.has(Number(id))) this.shown.set(Number(id), now);
    }
  }
  ages() {
    const age = ([id, at]) => (this.shown.has(id) ? Math.max(0, this.shown.get(id) - at) : Infinity);
    return [...this.committed].map(age).sort((a, b) => a - b);
  }
}

async function session(number, watch) {
  const id = `${String(number).padStart(8, "0")}-1111-4111-8111-000000000000`;
  const transcript = new Transcript(id);
  const prompt = `prompt of session ${number}`;
  transcript.append("user", prompt);
  await post("init", { contentSessionId: id, project: "app", prompt });
  for (let call = 1; call <= EACH; call += 1) {
    const [tool, command] = [`toolu_${number}_${call}`, `run ${call}`];
    transcript.append("assistant", [{ type: "tool_use", id: tool, name: "Bash", input: { command } }], { id: `m${call}` });
    transcript.append("user", [{ type: "tool_result", tool_use_id: tool, content: `done ${call}` }]);
    await post("observations", {
      contentSessionId: id, tool_name: "Bash", tool_input: { command }, tool_response: { stdout: `done ${call}` },
      cwd: "/w", tool_use_id: tool,
    });
    for (const end = Date.now() + PATIENCE; Date.now() < end && call - (watch.counts.get(id) ?? 0) > AHEAD; ) await pause(5);
  }
  transcript.append("assistant", [{ type: "text", text: "All is done." }], { id: "end" });
  await post("summarize", { contentSessionId: id, last_assistant_message: "All is done." });
  // The first call may be answered together with the prompt: what is there counts, and that no more comes.
  let [count, since] = [0, Date.now()];
  while (Date.now() - since < 2_000) {
    const now = watch.counts.get(id) ?? 0;
    if (now !== count) [count, since] = [now, Date.now()];
    if (count >= EACH && Date.now() - since > 500) break;
    await pause(20);
  }
  if (count < EACH * 0.9) fail(`claude-mem wrote ${count} observations for ${EACH} calls of session ${number}`);
  return id;
}

const rows = (database) =>
  ["observations", "tool_uses", "user_prompts", "session_summaries"]
    .map((table) => database.query(`SELECT count(*) AS count FROM ${table}`).get().count)
    .reduce((sum, count) => sum + count, 0);

async function main() {
  const ready = await until("the worker is ready", () => fetch(`http://127.0.0.1:${port}/api/readiness`).then((reply) => reply.ok, () => false));
  const answers = await until("the service answers", () => endless(["status", "--json"]).includes('"running": true'));
  if (!ready || !answers) return;
  const watch = new Watch();
  const derived = new Set();
  const looks = setInterval(() => watch.look(), LOOK);
  const states = setInterval(() => {
    const { observations } = JSON.parse(endless(["status", "--json"]) || "{}");
    if (observations?.source === "derived") derived.add(observations.why);
  }, 1_000);
  const [began, ids] = [Date.now(), []];
  while (rows(watch.database) < WRITES && !failed) {
    ids.push(await session(ids.length + 1, watch));
    process.stdout.write(`\r${rows(watch.database)} rows in ${Math.round((Date.now() - began) / 1_000)} s `);
  }
  console.log();
  await until("every row is in a bottle", () => watch.ages().at(-1) < Infinity);
  clearInterval(looks);
  clearInterval(states);
  report(watch, ids, derived);
}

function report(watch, ids, derived) {
  const ages = watch.ages();
  const at = (share) => `${ages[Math.min(ages.length - 1, Math.floor(ages.length * share))]} ms`;
  console.log(`rows written by claude-mem: ${rows(watch.database)}, observations among them: ${ages.length}, sessions: ${ids.length}`);
  console.log(`age of a row when its bottle had it: p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}`);
  if (ages.at(-1) > 1_000) fail(`a row came into its bottle after ${ages.at(-1)} ms`);
  for (const id of ids) {
    const plain = (bottle) => bottle.replace(/ · rendered: [^\n]*/, "");
    const cold = endless(["render", "--stdout", id], { ENDLESS_HOME: path.join(home, "cold") });
    if (plain(cold) !== plain(text(path.join(state, "bottles", `${id}.md`)))) fail(`the bottle of ${id} is not what a cold render gives`);
  }
  const locked = /SQLITE_BUSY|database is locked|database table is locked/i;
  const logs = fs.readdirSync(path.join(data, "logs"), { throwIfNoEntry: false }).map((name) => path.join(data, "logs", name));
  for (const log of [path.join(home, "worker.log"), path.join(home, "endless.log"), ...logs]) {
    const line = text(log).split("\n").find((line) => locked.test(line));
    if (line) fail(`a lock error in ${log}: ${line}`);
  }
  for (const why of derived) fail(`the service could not read claude-mem's database: ${why}`);
  for (const why of refused.slice(0, 3)) fail(`claude-mem refused ${why}`);
  for (const child of children) if (child.ended !== undefined) fail(`a process has ended: ${child.spawnfile}: ${child.ended}`);
}

try {
  await main();
} catch (error) {
  fail(error.stack ?? error);
}
for (const child of children) child.kill("SIGTERM");
await pause(500);
for (const child of children) if (child.ended === undefined) child.kill("SIGKILL");
if (failed) console.log(`what was written is in ${home}`);
else fs.rmSync(home, { recursive: true, force: true });
console.log(failed ? "tests/claude-mem: failed" : "tests/claude-mem: passed");
process.exit(failed ? 1 : 0);
