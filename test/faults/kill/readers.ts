// Those who only look, while a server is killed and right after it came back. What they are shown
// is a promise like any answer.
import type { RegistrationReply } from "../../../src/http/routes/admin.ts";
import type { StatusReply } from "../../../src/http/status.ts";
import type { LicenseObject } from "../../../src/http/license-object.ts";
import { callServer, COUNTING_FEATURE, PRODUCT, type CallAnswer, type ServerRun } from "./calls.ts";
import type { KillResults } from "./results.ts";
import { slotFromReply, type ExpectedState, type CounterName } from "./expected-state.ts";

type License = typeof LicenseObject.static;

const REGISTRATIONS = "/api/admin/v1/registrations";
const LICENSE = `/api/v4/license?product=${PRODUCT}`;
const STATUS = "/api/admin/v1/status";

type ReadCheck = (life: ServerRun, ledger: ExpectedState, figures: KillResults) => Promise<boolean>;

/** Counters are read by two: they change most often. */
const readers: readonly ReadCheck[] = [readRegistrations, readLicense, readLicense, readStatus];

export async function readRepeatedly(
  life: ServerRun,
  ledger: ExpectedState,
  figures: KillResults,
): Promise<void> {
  const again = async (reader: ReadCheck): Promise<void> => {
    while (!life.isOver) if (!(await reader(life, ledger, figures))) return;
  };
  // Long texts would keep everybody busy with the longest of all answers.
  const reading = life.usesLongTexts ? readers.filter((one) => one !== readRegistrations) : readers;
  await Promise.all(reading.map(again));
}

async function readRegistrations(
  life: ServerRun,
  ledger: ExpectedState,
  figures: KillResults,
): Promise<boolean> {
  const versions = [...ledger.users.values()].map(({ version }) => version);
  const answer = await callServer(life, figures, REGISTRATIONS, null);
  if (answer === null) return false;
  const found = slotsIn(answer);
  for (const [index, user] of [...ledger.users.values()].entries()) {
    // Something was answered meanwhile: the read may be from before or after it.
    if (versions[index] !== user.version) continue;
    const slot = found.get(user.name) ?? null;
    const which = user.compareRead(slot);
    figures.counts.reads += 1;
    if (which === "after") sawEarly(life, figures);
    if (which === null) {
      const { slot: held, pendingCall } = user;
      figures.recordViolation(
        "reads",
        `${user.name} is shown as ${JSON.stringify({ slot, held, open: pendingCall })}`,
      );
    }
  }
  return true;
}

async function readLicense(
  life: ServerRun,
  ledger: ExpectedState,
  figures: KillResults,
): Promise<boolean> {
  const { license, feature } = ledger.counters;
  const least = {
    license: Math.max(license.acknowledged, license.highestShown),
    feature: Math.max(feature.acknowledged, feature.highestShown),
  };
  const answer = await callServer(life, figures, LICENSE, null);
  if (answer === null) return false;
  const totals = totalsIn(answer);
  for (const which of ["license", "feature"] as const) {
    const counter = ledger.counters[which];
    figures.counts.reads += 1;
    if (totals[which] > counter.acknowledged) sawEarly(life, figures);
    const complaint = counter.recordShown(totals[which], least[which]);
    if (complaint !== null) figures.recordViolation("reads", `${which}: ${complaint}`);
  }
  return true;
}

async function readStatus(
  life: ServerRun,
  ledger: ExpectedState,
  figures: KillResults,
): Promise<boolean> {
  const least = ledger.highestShownSeq;
  const answer = await callServer(life, figures, STATUS, null);
  if (answer === null) return false;
  const { seq } = (answer.body as StatusReply).storage;
  figures.counts.reads += 1;
  if (seq < least)
    figures.recordViolation("reads", `line ${seq} is shown as the newest, ${least} was`);
  ledger.highestShownSeq = Math.max(ledger.highestShownSeq, seq);
  return true;
}

function sawEarly(life: ServerRun, figures: KillResults): void {
  figures.counts.early += 1;
  life.onEarlyRead();
}

/** A server is back: everything it shows is compared, and is certain from here on. */
export async function reconcileAfterRestart(
  life: ServerRun,
  ledger: ExpectedState,
  figures: KillResults,
  counted: (which: CounterName, weights: ReadonlySet<number>) => void,
): Promise<void> {
  const [registrations, license, status] = await Promise.all(
    [REGISTRATIONS, LICENSE, STATUS].map((path) => callServer(life, figures, path, null)),
  );
  if (registrations == null || license == null || status == null) return;
  const found = slotsIn(registrations);
  for (const user of ledger.users.values()) {
    if (user.pendingCall !== null) figures.counts.openSlots += 1;
    const wasShown = user.pendingCall?.wasShown === true;
    const complaint = user.reconcile(found.get(user.name) ?? null);
    if (complaint !== null) figures.recordViolation(wasShown ? "reads" : "slots", complaint);
    found.delete(user.name);
  }
  for (const name of found.keys()) figures.recordViolation("slots", `${name} was never asked for`);

  const totals = totalsIn(license);
  for (const which of ["license", "feature"] as const) {
    const counter = ledger.counters[which];
    figures.counts.openCounts += counter.pendingWeights.size;
    const settled = counter.reconcile(totals[which]);
    if (settled.broken === null) counted(which, settled.counted);
    else figures.recordViolation(settled.broken, `${which}: ${settled.complaint}`);
  }

  const { seq } = (status.body as StatusReply).storage;
  if (seq < ledger.highestShownSeq) {
    figures.recordViolation(
      "reads",
      `the newest line is ${seq}; a read had shown ${ledger.highestShownSeq}`,
    );
  }
  ledger.highestShownSeq = seq;
}

const slotsIn = ({ body }: CallAnswer) =>
  new Map((body as readonly RegistrationReply[]).map((row) => [row.user, slotFromReply(row)]));

function totalsIn({ body }: CallAnswer): Record<CounterName, number> {
  const { total_consumptions: license, product_features } = body as License;
  const counting = product_features.find(({ code }) => code === COUNTING_FEATURE);
  return { license, feature: counting?.total_consumptions ?? Number.NaN };
}
