// A server under load, whose backups are restored and compared with what its clients were answered.
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startBinary, type ServerProcess } from "../../support/binary.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { atEnd, makeTempFolder } from "../../support/suite-harness.ts";
import { findLeaks, setCanaryKeys, type Secrets } from "./canary-keys.ts";
import { ClientLoad, TERMS } from "./client-load.ts";
import { Interleaver, type InterleavingPlan } from "./interleaver.ts";
import { readFacts, judgeBackup, spawnBerth, type Backup } from "./judge.ts";
import { BackupViolation, withContext } from "./request-cut.ts";

const CLIENTS = 8;

export class BackupRun {
  readonly #folder: string;
  readonly #out: string;
  readonly #server: ServerProcess;
  readonly #secrets: Secrets;
  readonly #load: ClientLoad;
  readonly #interleaver: Interleaver;
  readonly #backups: Backup[] = [];
  readonly counts = { commands: 0, backups: 0, verifications: 0, overlaps: 0 };
  readonly compared = { answeredBefore: 0, inFlight: 0, auditLines: 0, megabytes: 0 };

  private constructor(root: string, server: ServerProcess, secrets: Secrets, seed: number) {
    this.#folder = join(root, "site");
    this.#out = join(root, "out");
    this.#server = server;
    this.#secrets = secrets;
    this.#load = new ClientLoad(server.url, seed);
    this.#interleaver = new Interleaver(this.#folder, () => this.#load.renewLimit());
  }

  static async start(seed: number): Promise<BackupRun> {
    const root = makeTempFolder();
    const folder = join(root, "site");
    mkdirSync(join(root, "out"));
    await makeLicensedSite(folder, TERMS);
    const flags = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];
    const server = await startBinary("serve", "--data", folder, ...flags);
    atEnd(() => void server.kill());
    const run = new BackupRun(root, server, await setCanaryKeys(folder), seed);
    run.#load.start(CLIENTS);
    return run;
  }

  /** Runs the commands of a plan, and judges the backups they made. */
  async runPlan(plan: InterleavingPlan): Promise<void> {
    const backups = await this.#runCommands(plan);
    if (this.#load.failures.length > 0)
      throw new BackupViolation("served", this.#load.failures.slice(0, 3).join("; "));
    this.#backups.push(...backups);
    this.#load.pause();
    try {
      const judgements = backups.map((backup) => withContext(backup.name, this.#judge(backup)));
      // Wait for all of them: after a violation no other check may still be running.
      await Promise.allSettled(judgements);
      await Promise.all(judgements);
    } finally {
      this.#load.resume();
    }
  }

  /** Ends the load and the server; throws if that or the folder they leave is not as it should be. */
  async end(): Promise<void> {
    await this.#load.stop();
    const code = await this.#server.stop();
    if (code !== 0) throw new BackupViolation("served", `the server stopped with code ${code}`);
    await readFacts(spawnBerth(["verify", "--data", this.#folder, "--json"]), "served");
    const leftovers = readdirSync(this.#out);
    if (leftovers.length === 0) return;
    throw new BackupViolation("created", `berth backup left files behind: ${leftovers.join(", ")}`);
  }

  /** What was tried, and what backups cost other callers. */
  get figures(): string {
    const firstStart = Math.min(...this.#backups.map(({ startedAt }) => startedAt));
    const before: number[] = [];
    const during: number[] = [];
    for (const { sentAt, durationMs } of this.#load.answers) {
      const answeredAt = sentAt + durationMs;
      const isDuringBackup = this.#backups.some(
        ({ startedAt, endedAt }) => answeredAt > startedAt && answeredAt < endedAt,
      );
      if (isDuringBackup) during.push(durationMs);
      else if (answeredAt < firstStart) before.push(durationMs);
    }
    return [
      `${this.#load.answers.length} requests; ${JSON.stringify({ ...this.counts, ...this.compared })}`,
      `answers before the first backup (${before.length}): ${describeDurations(before)}`,
      `answers while a backup ran (${during.length}): ${describeDurations(during)}`,
    ].join("\n");
  }

  /** Returns the backups that the commands made. */
  async #runCommands(plan: InterleavingPlan): Promise<Backup[]> {
    const { counts } = this;
    const running: Promise<Backup>[] = [];
    const before = this.#interleaver.completedCheckpoints;
    const isBackup = plan.command === "backup";
    await this.#interleaver.runPlan(plan, () =>
      Array.from({ length: plan.commandCount }, () => {
        counts.commands += 1;
        const file = join(this.#out, `${counts.commands}.berth`);
        const name = `${plan.command} ${counts.commands} (${JSON.stringify(plan)})`;
        const startedAt = performance.now();
        const files = isBackup ? [file] : [];
        const child = spawnBerth([plan.command, ...files, "--data", this.#folder, "--json"]);
        const endedAt = child.exited.then(() => performance.now());
        const facts = withContext(name, readFacts(child, isBackup ? "created" : "verified"));
        const result = facts.then(async (parsed) => ({
          name,
          file,
          facts: parsed,
          startedAt,
          endedAt: await endedAt,
        }));
        // A rejection is handled below, when the plan has run.
        result.catch(() => {});
        running.push(result);
        return child;
      }),
    );
    const results = await Promise.all(running);
    if (this.#interleaver.completedCheckpoints > before) counts.overlaps += results.length;
    counts[isBackup ? "backups" : "verifications"] += results.length;
    return isBackup ? results : [];
  }

  async #judge(backup: Backup): Promise<void> {
    const { file, facts } = backup;
    const bytes = readFileSync(file);
    const leaked = findLeaks(this.#secrets, bytes);
    if (leaked.length > 0)
      throw new BackupViolation("secrets", `the backup contains ${leaked.join(", ")}`);
    const restored = `${file}.restored`;
    mkdirSync(restored, { mode: 0o700 });
    const { requestLogs } = this.#load;
    const { answeredBefore, inFlight } = await judgeBackup(backup, restored, requestLogs);
    this.compared.answeredBefore += answeredBefore;
    this.compared.inFlight += inFlight;
    this.compared.auditLines += facts.audit_seq + 1;
    this.compared.megabytes += bytes.length / 1e6;
    rmSync(restored, { recursive: true });
    rmSync(file);
  }
}

function describeDurations(durations: readonly number[]): string {
  const sorted = durations.toSorted((a, b) => a - b);
  const quantile = (share: number): string =>
    (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  return `half within ${quantile(0.5)} ms, 99 % within ${quantile(0.99)} ms, the longest ${quantile(1)} ms`;
}
