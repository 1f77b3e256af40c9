// One data folder with many runs of a server. Each run is started, called by many clients at once
// and killed; the expected state is carried from run to run.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { segmentName } from "../../../src/store/folder/files.ts";
import { PATIENCE } from "../../support/patience.ts";
import { isEventuallyTrue } from "../../support/wait-until.ts";
import type { ServerRun } from "./calls.ts";
import { checkState } from "./state-check.ts";
import type { KillServers } from "./kill-servers.ts";
import type { KillPoint, KillResults } from "./results.ts";
import { LOAD_TERMS, SiteLoad } from "./site-load.ts";
import { checkAuditLog, readAuditLog } from "./audit-log-check.ts";
import type { ServerProcess } from "../shared/server-process.ts";

/** How long a load lasts at most, in milliseconds. */
const MAX_LOAD_MS = 60;
/** A kill comes at the latest after this many answers, or early reads. */
const MAX_ANSWERS = 200;
const MAX_EARLY_READS = 10;
/** A little more than the time from a new segment's first byte to the end of its checkpoint. */
const MAX_ROTATION_MS = 300;
/** A segment is closed at 8 MiB. */
const NEARLY_FULL = 7.5 * 1_024 * 1_024;
/** Long enough for early reads to occur, if the server shows changes early at all. */
const EARLY_READ_TIMEOUT = 3_000;

export class KillSite {
  readonly #servers: KillServers;
  readonly #random: () => number;
  readonly #results: KillResults;
  readonly #baseContext: string;
  readonly #load: SiteLoad;
  /** Running averages of the time to start and to stop on this machine, in milliseconds. */
  #startMs = 60;
  #stopMs = 150;
  #runCount = 0;
  #previousEnding = "nothing";

  constructor(servers: KillServers, random: () => number, results: KillResults) {
    this.#servers = servers;
    this.#random = random;
    this.#results = results;
    this.#baseContext = results.context;
    this.#load = new SiteLoad(results, random);
  }

  async create(): Promise<void> {
    await this.#servers.create(LOAD_TERMS);
  }

  /** Runs a server and kills it at this kill point. */
  async runAndKill(killPoint: Exclude<KillPoint, "first" | "late">): Promise<void> {
    this.#beginContext(killPoint);
    const server = this.#servers.start();
    if (killPoint === "start") {
      await Bun.sleep(this.#random() * this.#startMs * 1.2);
      server.kill("group");
      await this.#checkExit(server, killPoint);
      return;
    }
    const run = await this.#awaitReady(server, killPoint === "rotation");
    if (run === null) return;
    const { promise: killed, resolve: resolveKilled } = Promise.withResolvers<void>();
    // At that very instant: if the answer came too early, its change is not on disk yet.
    const killAfter = (count: number) => () => {
      count -= 1;
      if (count !== 0) return;
      this.#kill(run, server, "group");
      resolveKilled();
    };
    if (killPoint === "answer")
      run.onAnswer = killAfter(1 + Math.floor(this.#random() * MAX_ANSWERS));
    if (killPoint === "read")
      run.onEarlyRead = killAfter(1 + Math.floor(this.#random() * MAX_EARLY_READS));
    if (run.onTermEnd !== null) {
      run.onTermEnd = () => {
        if (!run.isOver) this.#results.counts.endedTerms += 1;
        run.isOver = true;
        resolveKilled();
      };
    }
    if (run.usesLongTexts) await this.#fillSegment(server, run);
    const load = this.#load.send(run);
    if (killPoint === "load") {
      await Promise.all([
        Bun.sleep(this.#random() * MAX_LOAD_MS),
        this.#servers.disturb?.(server, run),
      ]);
      this.#kill(run, server, "group");
    } else if (killPoint === "answer" || killPoint === "read") {
      const wasKilled = await settlesWithin(
        killPoint === "answer" ? PATIENCE : EARLY_READ_TIMEOUT,
        killed,
      );
      if (!run.isEnding) this.#kill(run, server, "group");
      if (!wasKilled && killPoint === "answer")
        this.#results.recordViolation("answers", "the server answered no call in time");
    } else if (killPoint === "rotation") {
      await this.#awaitRotation(server, run);
      await this.#servers.disturb?.(server, run);
      await Bun.sleep(this.#random() * MAX_ROTATION_MS);
      this.#kill(run, server, this.#random() < 0.5 ? "group" : "server");
    } else {
      await Bun.sleep((this.#random() * MAX_LOAD_MS) / 2);
      await this.#stop(run, server, killPoint === "orphan" ? "server" : "group");
    }
    await load;
    await this.#checkExit(server, killPoint);
  }

  /**
   * The last run: no call is cut off, and the files on disk must match the expected state exactly.
   */
  async runToCleanStop(): Promise<void> {
    this.#beginContext("a clean stop");
    const server = this.#servers.start(true);
    const run = await this.#awaitReady(server, false);
    if (run === null) return;
    const load = this.#load.send(run);
    await Bun.sleep(MAX_LOAD_MS);
    run.isOver = true;
    await load;
    run.isEnding = true;
    server.terminate();
    if (!(await settlesWithin(PATIENCE, server.exited))) server.kill("group");
    const { code, stderr } = await server.exited;
    if (code !== 0)
      return this.#results.recordViolation(
        "stops",
        `the server exited with code ${code}: ${stderr}`,
      );
    this.#results.counts.cleanStops += 1;
    const copies = await this.#servers.stopOthers?.(this.#results);
    for (const folder of [server.folder, ...(copies ?? [])]) {
      const state = checkState(folder, this.#load.expectedState, this.#results);
      checkAuditLog(folder, state, this.#load.expectedState, this.#results);
    }
  }

  #beginContext(ending: string): void {
    this.#runCount += 1;
    const context = `run ${this.#runCount} after ${this.#previousEnding}, ending: ${ending}`;
    this.#results.context = `${this.#baseContext}, ${context}`;
    this.#previousEnding = ending;
  }

  /** Waits until the server is ready and compares its state; null if it does not become ready. */
  async #awaitReady(server: ServerProcess, usesLongTexts: boolean): Promise<ServerRun | null> {
    const started = performance.now();
    if (!(await settlesWithin(PATIENCE, server.ready)) || !(await server.ready)) {
      server.kill("group");
      const { code, stderr } = await server.exited;
      this.#results.recordViolation(
        "starts",
        code === null
          ? `the server did not become ready in time: ${stderr}`
          : `the server exited with code ${code} before it was ready: ${stderr}`,
      );
      return null;
    }
    this.#startMs += (performance.now() - started - this.#startMs) / 10;
    this.#results.counts.starts += 1;
    const run: ServerRun = {
      url: server.url,
      usesLongTexts,
      isOver: false,
      isEnding: false,
      onAnswer() {},
      onEarlyRead() {},
      onTermEnd: this.#servers.canLoseTerm ? () => {} : null,
    };
    const isReconciled = await this.#load.reconcile(run);
    if (isReconciled || !this.#servers.canLoseTerm) return run;
    this.#results.counts.endedTerms += 1;
    server.kill("group");
    await server.exited;
    return null;
  }

  /** Long rules fill the open segment with 30 calls; the load would need thousands. */
  async #fillSegment(server: ServerProcess, run: ServerRun): Promise<void> {
    const comment = `# ${"x".repeat(256 * 1_024)}`;
    for (let n = 0; !run.isOver && sizeOfJournal(server.folder) < NEARLY_FULL; n += 1) {
      const reply = await fetch(`${run.url}/api/admin/v1/rules`, {
        method: "PUT",
        headers: { "content-type": "application/json", "if-match": "*" },
        body: JSON.stringify({ text: `${comment} ${n}\n` }),
      });
      const text = await reply.text();
      if (reply.status === 503 && run.onTermEnd !== null) run.onTermEnd();
      else if (reply.status !== 200) throw new Error(`the rules were refused: ${text}`);
    }
  }

  #kill(run: ServerRun, server: ServerProcess, target: "server" | "group"): void {
    run.isEnding = true;
    if (server.hasExited())
      this.#results.recordViolation("starts", "the server exited before it was killed");
    server.kill(target);
    run.isOver = true;
  }

  /**
   * Terminates the server and kills it during its stop; sometimes the stop ends before the kill.
   */
  async #stop(run: ServerRun, server: ServerProcess, target: "server" | "group"): Promise<void> {
    run.isEnding = true;
    run.isOver = true;
    const terminatedAt = performance.now();
    server.terminate();
    await Promise.race([Bun.sleep(this.#random() * this.#stopMs), server.exited]);
    const elapsed = performance.now() - terminatedAt;
    // Adapts the delay, so that on any machine a few stops end before the kill.
    this.#stopMs = server.hasExited() ? (this.#stopMs + elapsed * 1.3) / 2 : this.#stopMs * 1.1;
    server.kill(target);
  }

  async #awaitRotation(server: ServerProcess, run: ServerRun): Promise<void> {
    const before = findNewestSegment(server.folder);
    const isOver = (): boolean =>
      run.isOver || server.hasExited() || findNewestSegment(server.folder) > before;
    await isEventuallyTrue(isOver, { maxPause: 2 });
  }

  async #checkExit(server: ServerProcess, killPoint: KillPoint): Promise<void> {
    const { code, stderr } = await server.exited;
    await this.#servers.checkEnd?.(server, this.#results);
    if (stderr.includes("interrupted write")) this.#results.counts.tornTails += 1;
    if (code === null) {
      this.#results.killsByPoint[killPoint] += 1;
      if (hasOrphanedCheckpoint(server)) this.#results.counts.orphans += 1;
      return;
    }
    if (code !== 0)
      return this.#results.recordViolation(
        "stops",
        `the server exited with code ${code}: ${stderr}`,
      );
    this.#results.counts.cleanStops += 1;
    checkState(server.folder, this.#load.expectedState, this.#results);
    readAuditLog(server.folder, this.#load.expectedState, this.#results);
  }
}

/** The first line of the newest segment of a journal. */
export const findNewestSegment = (folder: string): number =>
  Math.max(
    ...readdirSync(folder).map((name) => Number(/^journal-(\d+)\.jsonl$/.exec(name)?.[1] ?? 0)),
  );

/** Of the file to which the journal is appended. */
export const sizeOfJournal = (folder: string): number =>
  statSync(join(folder, segmentName(findNewestSegment(folder)))).size;

function hasOrphanedCheckpoint({ folder }: ServerProcess): boolean {
  try {
    const pid = readFileSync(join(folder, "checkpoint.lock"), "utf8");
    return pid !== "" && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("checkpoint");
  } catch {
    return false;
  }
}

/** Whether a promise is fulfilled before the timeout. */
const settlesWithin = (timeoutMs: number, promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([promise.then(() => true), Bun.sleep(timeoutMs).then(() => false)]);
