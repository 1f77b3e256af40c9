// Restores a backup into an empty folder and compares it with the clients' logs. It must contain
// what was answered before the backup started and nothing that was sent after it ended. Its audit
// log is read here without code of the product.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary, serveAsSeparateMachine } from "../../support/binary.ts";
import {
  countAnsweredBefore,
  countSentBefore,
  BackupViolation,
  sumConsumption,
  findRequestCut,
  checkOneInstant,
  withContext,
  type RequestLog,
  type BackupPromise,
  type BackupWindow,
} from "./request-cut.ts";
import { atEnd } from "../../support/suite-harness.ts";
import {
  BrokenChainError,
  readAuditChain,
  readAuditTexts,
  splitLines,
  type AuditEvent,
} from "../shared/audit-chain.ts";
import {
  METER_FEATURE,
  MODULE_FEATURE,
  CLIENT_USER_PATTERN,
  type SlotsByUser,
} from "./client-load.ts";

const SPAWN_OPTIONS = { cwd: "/", env: {}, stdout: "pipe", stderr: "pipe" } as const;

export const spawnBerth = (args: readonly string[]) =>
  Bun.spawn([buildBinary(), ...args], { ...SPAWN_OPTIONS, stdin: "ignore" });

/** The fields of the `--json` output that this suite reads. */
export interface BackupFacts {
  readonly seq: number;
  readonly audit_seq: number;
  readonly torn_bytes: number;
  readonly audit_unfinished_bytes: number;
  readonly lineage?: string;
}

export async function readFacts(
  child: ReturnType<typeof spawnBerth>,
  promise: BackupPromise,
): Promise<BackupFacts> {
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  if (code !== 0) throw new BackupViolation(promise, `exit code ${code}: ${stderr}${stdout}`);
  return JSON.parse(stdout) as BackupFacts;
}

const runForFacts = (command: string, ...args: string[]): Promise<BackupFacts> =>
  withContext(command, readFacts(spawnBerth([command, ...args, "--json"]), "restored"));

export interface Backup extends BackupWindow {
  readonly name: string;
  readonly file: string;
  readonly facts: BackupFacts;
}

export interface BackupJudgement {
  /** Requests answered before the backup started: it must contain all of them. */
  readonly answeredBefore: number;
  /** Requests under way during the backup: it may contain any of them. */
  readonly inFlight: number;
}

/** Restores into `folder`; throws a `BackupViolation` for the first broken promise. */
export async function judgeBackup(
  backup: Backup,
  folder: string,
  requestLogs: readonly RequestLog[],
): Promise<BackupJudgement> {
  const { file, facts, startedAt, endedAt } = backup;
  const restored = await runForFacts("restore", file, "--data", folder);
  const verified = await runForFacts("verify", "--data", folder);
  if (verified.seq !== facts.seq + 1 || verified.audit_seq !== facts.audit_seq + 1) {
    throw new BackupViolation(
      "auditLog",
      `a restore must add exactly one line: ${JSON.stringify({ facts, verified })}`,
    );
  }
  if (facts.torn_bytes > 0 || facts.audit_unfinished_bytes > 0) {
    throw new BackupViolation(
      "auditLog",
      `the backup contains bytes that its state does not cover: ${JSON.stringify(facts)}`,
    );
  }
  const auditLog = readAuditLog(folder);
  const lineage = auditLog.last?.type === "Restored" ? auditLog.last.restore?.lineage : null;
  if (lineage === null || lineage !== restored.lineage || auditLog.lines !== verified.audit_seq) {
    const end = `${auditLog.lines} lines, the last is ${JSON.stringify(auditLog.last)}`;
    throw new BackupViolation(
      "auditLog",
      `berth restore printed ${JSON.stringify(restored)}, but the audit log has ${end}`,
    );
  }
  const served = await readFromServer(folder);
  // A start more than a minute after the last line adds lines about the clock.
  const verifiedAfterStop = await runForFacts("verify", "--data", folder);
  const covered = readCoveredSeq(folder);
  if (covered !== verifiedAfterStop.seq || covered < verified.seq) {
    const lines = `${verified.seq} at the start and ${verifiedAfterStop.seq} at the end`;
    throw new BackupViolation(
      "restored",
      `after a clean stop state.json covers ${covered} lines; the journal had ${lines}`,
    );
  }
  const cuts = requestLogs.map((requestLog, client) =>
    findRequestCut(requestLog, served.slotsByClient[client] ?? new Map(), backup),
  );
  checkOneInstant(requestLogs, cuts);
  for (const [operation, total] of Object.entries(served.totals)) {
    const { least, most } = sumConsumption(requestLogs, cuts, operation);
    const recorded = auditLog.totals.get(operation) ?? 0;
    if (total < least || total > most || total !== recorded) {
      const bounds = `between ${least} and ${most} were requested`;
      throw new BackupViolation(
        "requests",
        `${operation}: the counter shows ${total}, the audit log ${recorded}, and ${bounds}`,
      );
    }
  }
  const answeredBefore = sum(requestLogs.map((log) => countAnsweredBefore(log, startedAt)));
  return {
    answeredBefore,
    inFlight: sum(requestLogs.map((log) => countSentBefore(log, endedAt))) - answeredBefore,
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

const OPERATIONS: Readonly<Record<string, string>> = {
  ConsumptionAdded: "add_consumption",
  FeatureConsumptionAdded: "add_feature_consumption",
};

/**
 * The chain from its first line on: the audit log, then the journal lines that the state does not
 * cover.
 */
function readAuditLog(folder: string) {
  const covered = readCoveredSeq(folder);
  const totals = new Map<string, number>();
  let lines = 0;
  let last: AuditEvent | undefined;
  try {
    for (const { events } of readAuditChain([
      ...readAuditTexts(folder),
      ...readUncoveredTexts(folder, covered),
    ])) {
      lines += 1;
      last = events.at(-1);
      for (const { type, count = 0 } of events) {
        const operation = OPERATIONS[type];
        if (operation !== undefined) totals.set(operation, (totals.get(operation) ?? 0) + count);
      }
    }
  } catch (error) {
    if (error instanceof BrokenChainError) throw new BackupViolation("auditLog", error.message);
    throw error;
  }
  return { lines, last, totals };
}

/** The lines of the journal that will be lines of the audit log after the next checkpoint. */
function* readUncoveredTexts(folder: string, covered: number) {
  const segments = readdirSync(folder).filter((name) => name.startsWith("journal-"));
  for (const name of segments.toSorted(byNumber)) {
    for (const line of splitLines(readFileSync(join(folder, name)), name)) {
      const { seq, audit_seq } = JSON.parse(line.text) as { seq: number; audit_seq?: number };
      if (seq > covered && audit_seq !== undefined) yield line;
    }
  }
}

function readCoveredSeq(folder: string): number {
  const text = readFileSync(join(folder, "state.json"), "utf8");
  return (JSON.parse(text) as { readonly covers: { readonly seq: number } }).covers.seq;
}

const byNumber = (a: string, b: string): number => numberIn(a) - numberIn(b);
const numberIn = (name: string): number => Number(/\d+/.exec(name)?.[0]);

interface SlotReply {
  readonly user: string;
  readonly user_info: string;
  readonly borrowed_until: string | null;
  readonly features: readonly string[];
}

interface LicenseReply {
  readonly total_consumptions: number;
  readonly product_features: readonly { readonly code: string; total_consumptions: number }[];
}

/** Serves the folder and reads the slots, by client, and the consumption totals. */
async function readFromServer(folder: string) {
  // The original site is served at the same time, so this must look like another machine.
  const server = await serveAsSeparateMachine(folder, "--listen", "127.0.0.1:0").catch(
    (error: unknown) => {
      throw new BackupViolation("restored", String(error));
    },
  );
  atEnd(() => void server.kill());
  const get = async (path: string): Promise<unknown> =>
    (await fetch(`${server.url}/api/admin/v1/${path}`)).json();
  const [slots, [license]] = await Promise.all([
    get("registrations") as Promise<SlotReply[]>,
    get("licenses") as Promise<LicenseReply[]>,
  ]);
  if ((await server.stop()) !== 0)
    throw new BackupViolation(
      "restored",
      "the server of the restored folder does not stop cleanly",
    );
  const slotsByClient: SlotsByUser[] = [];
  for (const { user, user_info: info, borrowed_until: until, features } of slots) {
    const client = CLIENT_USER_PATTERN.exec(user)?.[1];
    if (client === undefined) continue;
    (slotsByClient[Number(client)] ??= new Map()).set(user, {
      info,
      borrowedUntil: until,
      hasModule: features.includes(MODULE_FEATURE),
    });
  }
  const meter = license?.product_features.find(({ code }) => code === METER_FEATURE);
  const totals = {
    add_consumption: license?.total_consumptions ?? -1,
    add_feature_consumption: meter?.total_consumptions ?? -1,
  };
  return { slotsByClient, totals };
}
