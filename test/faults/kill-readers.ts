// Those who only look, while a server is killed and right after it came back. What they are shown
// is a promise like any answer.
import type { RegistrationReply } from "../../src/http/routes/admin.ts";
import type { StatusReply } from "../../src/http/status.ts";
import type { LicenseObject } from "../../src/http/license-object.ts";
import { call, COUNTING, PRODUCT, type Answer, type Life } from "./kill-calls.ts";
import type { Figures } from "./kill-figures.ts";
import { slotOf, type Ledger, type Which } from "./kill-ledger.ts";

type License = typeof LicenseObject.static;

const REGISTRATIONS = "/api/admin/v1/registrations";
const LICENSE = `/api/v4/license?product=${PRODUCT}`;
const STATUS = "/api/admin/v1/status";

type Reader = (life: Life, ledger: Ledger, figures: Figures) => Promise<boolean>;

/** Counters are read by two: they change most often. */
const readers: readonly Reader[] = [readRegistrations, readLicense, readLicense, readStatus];

export async function read(life: Life, ledger: Ledger, figures: Figures): Promise<void> {
  const again = async (reader: Reader): Promise<void> => {
    while (!life.over) if (!(await reader(life, ledger, figures))) return;
  };
  // Long texts would keep everybody busy with the longest of all answers.
  const reading = life.padded ? readers.filter((one) => one !== readRegistrations) : readers;
  await Promise.all(reading.map(again));
}

async function readRegistrations(life: Life, ledger: Ledger, figures: Figures): Promise<boolean> {
  const versions = [...ledger.users.values()].map(({ version }) => version);
  const answer = await call(life, figures, REGISTRATIONS, null);
  if (answer === null) return false;
  const found = slotsIn(answer);
  for (const [index, user] of [...ledger.users.values()].entries()) {
    // Something was answered meanwhile: the read may be from before or after it.
    if (versions[index] !== user.version) continue;
    const slot = found.get(user.name) ?? null;
    const which = user.read(slot);
    figures.of.reads += 1;
    if (which === "after") sawEarly(life, figures);
    if (which === null) {
      const { held, open } = user;
      figures.break("reads", `${user.name} is shown as ${JSON.stringify({ slot, held, open })}`);
    }
  }
  return true;
}

async function readLicense(life: Life, ledger: Ledger, figures: Figures): Promise<boolean> {
  const { license, feature } = ledger.counters;
  const least = {
    license: Math.max(license.certain, license.shown),
    feature: Math.max(feature.certain, feature.shown),
  };
  const answer = await call(life, figures, LICENSE, null);
  if (answer === null) return false;
  const totals = totalsIn(answer);
  for (const which of ["license", "feature"] as const) {
    const counter = ledger.counters[which];
    figures.of.reads += 1;
    if (totals[which] > counter.certain) sawEarly(life, figures);
    const complaint = counter.show(totals[which], least[which]);
    if (complaint !== null) figures.break("reads", `${which}: ${complaint}`);
  }
  return true;
}

async function readStatus(life: Life, ledger: Ledger, figures: Figures): Promise<boolean> {
  const least = ledger.seq;
  const answer = await call(life, figures, STATUS, null);
  if (answer === null) return false;
  const { seq } = (answer.body as StatusReply).storage;
  figures.of.reads += 1;
  if (seq < least) figures.break("reads", `line ${seq} is shown as the newest, ${least} was`);
  ledger.seq = Math.max(ledger.seq, seq);
  return true;
}

function sawEarly(life: Life, figures: Figures): void {
  figures.of.early += 1;
  life.sawEarly();
}

/** A server is back: everything it shows is compared, and is certain from here on. */
export async function settle(
  life: Life,
  ledger: Ledger,
  figures: Figures,
  counted: (which: Which, weights: ReadonlySet<number>) => void,
): Promise<void> {
  const [registrations, license, status] = await Promise.all(
    [REGISTRATIONS, LICENSE, STATUS].map((path) => call(life, figures, path, null)),
  );
  if (registrations == null || license == null || status == null) return;
  const found = slotsIn(registrations);
  for (const user of ledger.users.values()) {
    if (user.open !== null) figures.of.openSlots += 1;
    const wasShown = user.open?.shown === true;
    const complaint = user.settle(found.get(user.name) ?? null);
    if (complaint !== null) figures.break(wasShown ? "reads" : "slots", complaint);
    found.delete(user.name);
  }
  for (const name of found.keys()) figures.break("slots", `${name} was never asked for`);

  const totals = totalsIn(license);
  for (const which of ["license", "feature"] as const) {
    const counter = ledger.counters[which];
    figures.of.openCounts += counter.open.size;
    const settled = counter.settle(totals[which]);
    if (settled.broken === null) counted(which, settled.counted);
    else figures.break(settled.broken, `${which}: ${settled.complaint}`);
  }

  const { seq } = (status.body as StatusReply).storage;
  if (seq < ledger.seq) {
    figures.break("reads", `the newest line is ${seq}; a read had shown ${ledger.seq}`);
  }
  ledger.seq = seq;
}

const slotsIn = ({ body }: Answer) =>
  new Map((body as readonly RegistrationReply[]).map((row) => [row.user, slotOf(row)]));

function totalsIn({ body }: Answer): Record<Which, number> {
  const { total_consumptions: license, product_features } = body as License;
  const counting = product_features.find(({ code }) => code === COUNTING);
  return { license, feature: counting?.total_consumptions ?? Number.NaN };
}
