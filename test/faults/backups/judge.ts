// Brings a backup back into an empty folder and compares: with what clients had been promised when it
// began, with what nobody had asked for before it ended, and with its own record, which is read here
// without the product's help.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GENESIS, sha256 } from "../../../src/platform/hash.ts";
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
  METER_FEATURE,
  MODULE_FEATURE,
  CLIENT_USER_PATTERN,
  type SlotsByUser,
} from "./client-load.ts";

const around = { cwd: "/", env: {}, stdout: "pipe", stderr: "pipe" } as const;

export const spawnBerth = (words: readonly string[]) =>
  Bun.spawn([buildBinary(), ...words], { ...around, stdin: "ignore" });

/** What `--json` says, as far as it is looked at here. */
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
  const [code, out, complaint] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  if (code !== 0) throw new BackupViolation(promise, `exit ${code}: ${complaint}${out}`);
  return JSON.parse(out) as BackupFacts;
}

const told = (command: string, ...words: string[]): Promise<BackupFacts> =>
  withContext(command, readFacts(spawnBerth([command, ...words, "--json"]), "restored"));

export interface Backup extends BackupWindow {
  readonly name: string;
  readonly file: string;
  readonly facts: BackupFacts;
}

export interface BackupJudgement {
  /** Answered before it began: all of these had to be there. */
  readonly answeredBefore: number;
  /** Under way meanwhile: any of these could be there. */
  readonly inFlight: number;
}

/** Throws `Broken` for the first promise it finds broken; `folder` is where to restore to. */
export async function judgeBackup(
  backup: Backup,
  folder: string,
  ledgers: readonly RequestLog[],
): Promise<BackupJudgement> {
  const { file, facts, startedAt, endedAt } = backup;
  const restored = await told("restore", file, "--data", folder);
  const walked = await told("verify", "--data", folder);
  if (walked.seq !== facts.seq + 1 || walked.audit_seq !== facts.audit_seq + 1) {
    throw new BackupViolation(
      "recorded",
      `a restore adds one line: ${JSON.stringify({ facts, walked })}`,
    );
  }
  if (facts.torn_bytes > 0 || facts.audit_unfinished_bytes > 0) {
    throw new BackupViolation(
      "recorded",
      `more was copied than its state knows of: ${JSON.stringify(facts)}`,
    );
  }
  const record = readAuditLog(folder);
  const lineage = record.last?.type === "Restored" ? record.last.restore?.lineage : null;
  if (lineage === null || lineage !== restored.lineage || record.lines !== walked.audit_seq) {
    const end = `${record.lines} lines, the last ${JSON.stringify(record.last)}`;
    throw new BackupViolation("recorded", `${JSON.stringify(restored)}, and on record are ${end}`);
  }
  const served = await serve(folder);
  // A start more than a minute after the last line adds lines of its own: the clock's.
  const stopped = await told("verify", "--data", folder);
  const covered = coveredIn(folder);
  if (covered !== stopped.seq || covered < walked.seq) {
    const lines = `${walked.seq} lines at the start, ${stopped.seq} at the end`;
    throw new BackupViolation("restored", `a clean stop folds ${covered}: ${lines}`);
  }
  const cuts = ledgers.map((ledger, client) =>
    findRequestCut(ledger, served.held[client] ?? new Map(), backup),
  );
  checkOneInstant(ledgers, cuts);
  for (const [operation, total] of Object.entries(served.totals)) {
    const { least, most } = sumConsumption(ledgers, cuts, operation);
    const recorded = record.totals.get(operation) ?? 0;
    if (total < least || total > most || total !== recorded) {
      const bounds = `between ${least} and ${most} were asked for`;
      throw new BackupViolation(
        "kept",
        `${operation}: ${total} counted, ${recorded} on record, ${bounds}`,
      );
    }
  }
  const promised = sum(ledgers.map((ledger) => countAnsweredBefore(ledger, startedAt)));
  return {
    answeredBefore: promised,
    inFlight: sum(ledgers.map((ledger) => countSentBefore(ledger, endedAt))) - promised,
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

interface AuditEvent {
  readonly type: string;
  readonly count?: number;
  readonly restore?: { readonly lineage: string };
}

interface AuditLine {
  readonly seq: number;
  readonly audit_seq?: number;
  readonly audit_prev?: string;
  readonly events: readonly AuditEvent[];
  readonly sum: string;
}

const COUNTED: Readonly<Record<string, string>> = {
  ConsumptionAdded: "add_consumption",
  FeatureConsumptionAdded: "add_feature_consumption",
};

/** The audit chain from its first line on: the record, and what the journal has beyond the state. */
function readAuditLog(folder: string) {
  const covered = coveredIn(folder);
  const history = readdirSync(join(folder, "history")).map((name) => join("history", name));
  const journal = readdirSync(folder).filter((name) => name.startsWith("journal-"));
  const totals = new Map<string, number>();
  let [lines, end]: [number, string] = [0, GENESIS];
  let last: AuditEvent | undefined;
  for (const name of [...history.toSorted(), ...journal.toSorted(byNumber)]) {
    for (const text of readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1)) {
      const line = JSON.parse(text) as AuditLine;
      const folded = journal.includes(name) && line.seq <= covered;
      if (folded || line.audit_seq === undefined) continue;
      const whole = sha256(text.slice(0, text.lastIndexOf(',"sum":'))) === line.sum;
      if (!whole || line.audit_seq !== lines + 1 || line.audit_prev !== end) {
        throw new BackupViolation(
          "recorded",
          `line ${lines + 1} of the record should follow in ${name}: ${text}`,
        );
      }
      [lines, end, last] = [lines + 1, line.sum, line.events.at(-1)];
      for (const { type, count = 0 } of line.events) {
        const operation = COUNTED[type];
        if (operation !== undefined) totals.set(operation, (totals.get(operation) ?? 0) + count);
      }
    }
  }
  return { lines, last, totals };
}

function coveredIn(folder: string): number {
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

/** What a server on the folder says: who holds what, by client, and what was counted. */
async function serve(folder: string) {
  // What it was made of is served meanwhile.
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
    throw new BackupViolation("restored", "it does not stop cleanly");
  const held: SlotsByUser[] = [];
  for (const { user, user_info: info, borrowed_until: until, features } of slots) {
    const client = CLIENT_USER_PATTERN.exec(user)?.[1];
    if (client === undefined) continue;
    const module = features.includes(MODULE_FEATURE);
    (held[Number(client)] ??= new Map()).set(user, {
      info,
      borrowedUntil: until,
      hasModule: module,
    });
  }
  const meter = license?.product_features.find(({ code }) => code === METER_FEATURE);
  const totals = {
    add_consumption: license?.total_consumptions ?? -1,
    add_feature_consumption: meter?.total_consumptions ?? -1,
  };
  return { held, totals };
}
