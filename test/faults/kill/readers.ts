// Clients that only read, until a server is killed and right after it has restarted. What a read
// shows must survive the kill, like an answered change.
import type { RegistrationReply } from "../../../src/http/routes/slots/registrations.ts";
import type { StatusReply } from "../../../src/http/routes/health/status-schema.ts";
import type { LicenseObject } from "../../../src/http/routes/licenses/license-object.ts";
import { callServer, COUNTING_FEATURE, PRODUCT, type CallAnswer, type ServerRun } from "./calls.ts";
import type { KillResults } from "./results.ts";
import { slotFromReply, type ExpectedState, type CounterName } from "./expected-state.ts";

type License = typeof LicenseObject.static;

const REGISTRATIONS = "/api/admin/v1/registrations";
const LICENSE = `/api/v4/license?product=${PRODUCT}`;
const STATUS = "/api/admin/v1/status";

type ReadCheck = (
  run: ServerRun,
  expectedState: ExpectedState,
  results: KillResults,
) => Promise<boolean>;

/** Two readers read the counters, because these change most often. */
const readers: readonly ReadCheck[] = [readRegistrations, readLicense, readLicense, readStatus];

export async function readRepeatedly(
  run: ServerRun,
  expectedState: ExpectedState,
  results: KillResults,
): Promise<void> {
  const repeat = async (reader: ReadCheck): Promise<void> => {
    while (!run.isOver) if (!(await reader(run, expectedState, results))) return;
  };
  // With long texts the registrations are by far the longest answer, and would slow down all calls.
  const activeReaders = run.usesLongTexts
    ? readers.filter((reader) => reader !== readRegistrations)
    : readers;
  await Promise.all(activeReaders.map(repeat));
}

async function readRegistrations(
  run: ServerRun,
  expectedState: ExpectedState,
  results: KillResults,
): Promise<boolean> {
  const versions = [...expectedState.users.values()].map(({ version }) => version);
  const answer = await callServer(run, results, REGISTRATIONS, null);
  if (answer === null) return false;
  const slotsByUser = slotsIn(answer);
  for (const [index, user] of [...expectedState.users.values()].entries()) {
    // A change was answered meanwhile: the read may be from before or after it.
    if (versions[index] !== user.version) continue;
    const slot = slotsByUser.get(user.name) ?? null;
    const match = user.compareRead(slot);
    results.counts.reads += 1;
    if (match === "after") recordEarlyRead(run, results);
    if (match === null) {
      const { slot: expected, pendingCall } = user;
      results.recordViolation(
        "reads",
        `a read shows ${user.name} as ${JSON.stringify({ slot, expected, pendingCall })}`,
      );
    }
  }
  return true;
}

async function readLicense(
  run: ServerRun,
  expectedState: ExpectedState,
  results: KillResults,
): Promise<boolean> {
  const { license, feature } = expectedState.counters;
  const least = {
    license: Math.max(license.acknowledged, license.highestShown),
    feature: Math.max(feature.acknowledged, feature.highestShown),
  };
  const answer = await callServer(run, results, LICENSE, null);
  if (answer === null) return false;
  const totals = totalsIn(answer);
  for (const which of ["license", "feature"] as const) {
    const counter = expectedState.counters[which];
    results.counts.reads += 1;
    if (totals[which] > counter.acknowledged) recordEarlyRead(run, results);
    const violation = counter.recordShown(totals[which], least[which]);
    if (violation !== null) results.recordViolation("reads", `${which}: ${violation}`);
  }
  return true;
}

async function readStatus(
  run: ServerRun,
  expectedState: ExpectedState,
  results: KillResults,
): Promise<boolean> {
  const least = expectedState.highestShownSeq;
  const answer = await callServer(run, results, STATUS, null);
  if (answer === null) return false;
  const { seq } = (answer.body as StatusReply).storage;
  results.counts.reads += 1;
  if (seq < least)
    results.recordViolation(
      "reads",
      `a read shows line ${seq} as the newest; an earlier read showed ${least}`,
    );
  expectedState.highestShownSeq = Math.max(expectedState.highestShownSeq, seq);
  return true;
}

function recordEarlyRead(run: ServerRun, results: KillResults): void {
  results.counts.earlyReads += 1;
  run.onEarlyRead();
}

/**
 * After a restart, compares everything the server shows; from here on it is the expected state.
 * False: it did not answer.
 */
export async function reconcileAfterRestart(
  run: ServerRun,
  expectedState: ExpectedState,
  results: KillResults,
  onReconciled: (which: CounterName, countedWeights: ReadonlySet<number>) => void,
): Promise<boolean> {
  const [registrations, license, status] = await Promise.all(
    [REGISTRATIONS, LICENSE, STATUS].map((path) => callServer(run, results, path, null)),
  );
  if (registrations == null || license == null || status == null) return false;
  const slotsByUser = slotsIn(registrations);
  for (const user of expectedState.users.values()) {
    if (user.pendingCall !== null) results.counts.unansweredSlots += 1;
    const wasShown = user.pendingCall?.wasShown === true;
    const violation = user.reconcile(slotsByUser.get(user.name) ?? null);
    if (violation !== null) results.recordViolation(wasShown ? "reads" : "slots", violation);
    slotsByUser.delete(user.name);
  }
  for (const name of slotsByUser.keys()) {
    results.recordViolation("slots", `${name} is registered, but no client registered this user`);
  }

  const totals = totalsIn(license);
  for (const which of ["license", "feature"] as const) {
    const counter = expectedState.counters[which];
    results.counts.unansweredCounts += counter.pendingWeights.size;
    const reconciled = counter.reconcile(totals[which]);
    if (reconciled.brokenPromise === null) onReconciled(which, reconciled.counted);
    else results.recordViolation(reconciled.brokenPromise, `${which}: ${reconciled.reason}`);
  }

  const { seq } = (status.body as StatusReply).storage;
  if (seq < expectedState.highestShownSeq) {
    results.recordViolation(
      "reads",
      `the newest line is ${seq} after the restart; a read had shown ${expectedState.highestShownSeq}`,
    );
  }
  expectedState.highestShownSeq = seq;
  return true;
}

const slotsIn = ({ body }: CallAnswer) =>
  new Map((body as readonly RegistrationReply[]).map((row) => [row.user, slotFromReply(row)]));

function totalsIn({ body }: CallAnswer): Record<CounterName, number> {
  const { total_consumptions: license, product_features } = body as License;
  const counting = product_features.find(({ code }) => code === COUNTING_FEATURE);
  return { license, feature: counting?.total_consumptions ?? Number.NaN };
}
