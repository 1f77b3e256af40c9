import type { Instant } from "../../domain/time.ts";
import { signAcknowledgement } from "../../license/documents/acknowledgement.ts";
import { readDocumentHeader } from "../../license/documents/document.ts";
import { describeDocumentFault } from "../../license/documents/document-fault.ts";
import {
  verifyUsageStatement,
  type UsageFigures,
  type UsageStatement,
} from "../../license/documents/usage-statement.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { stateOfKey, type DeskRecords } from "../desk-records.ts";
import type { Desk } from "../desk.ts";
import { DecisionNeeded, DeskRefused } from "../desk-refused.ts";
import type { IssuedEntry, StatementEntry } from "../ledger/ledger-entries.ts";
import type { StatementDocuments } from "../ledger/statement-file.ts";
import {
  describeNewRestores,
  findContradictions,
  findStatementChain,
  findWrongDates,
} from "./statement-continuity.ts";

export interface ReceiveOptions {
  /** Null: a statement that does not continue the one before is refused. */
  readonly acceptForkReason: string | null;
  readonly now: Instant;
}

/** A statement that is recorded, with the answer to it. */
export interface RecordedStatement extends StatementEntry, StatementDocuments {}

/** A statement that passed every check; nothing is written yet. */
export interface CheckedStatement {
  readonly statement: UsageStatement;
  readonly document: string;
  readonly digest: string;
  /** What it contradicts, accepted with a reason; empty: nothing. */
  readonly contradictions: readonly string[];
  /** For a person to judge. */
  readonly warnings: readonly string[];
  /** If it was received before; null: it is new. */
  readonly recorded: RecordedStatement | null;
}

/** Makes every check; needs no key. */
export async function checkStatement(
  desk: DeskRecords,
  document: string,
  { acceptForkReason, now }: ReceiveOptions,
): Promise<CheckedStatement> {
  const verified = await verifyUsageStatement(document);
  if (!verified.ok) {
    throw new DeskRefused(
      `the statement ${describeDocumentFault(verified.fault)}`,
      "ask the site to send it again",
    );
  }
  const { statement, figures } = verified.value;
  if (statement.aud !== desk.vendor.vendor) {
    throw new DeskRefused(
      `the statement is for another vendor: ${statement.aud}`,
      `this desk is vendor ${desk.vendor.vendor}; ask the site for a statement with --vendor`,
    );
  }
  const issued = desk.ledger.issuedTo(statement.iss).toReversed();
  refuseForeignLicenses(statement, figures, issued);
  const digest = sha256(document);
  const entry = desk.ledger.statementsOf(statement.iss).find((known) => known.digest === digest);
  const recorded = entry === undefined ? null : { ...entry, ...desk.ledger.readStatement(entry) };
  const checked = { statement, document, digest, recorded };
  if (recorded !== null) {
    const warnings = [
      ...describeReplacement(desk, recorded),
      ...describeUnusableAnswer(desk, recorded, now),
    ];
    return { ...checked, contradictions: [], warnings };
  }
  const contradictions = [
    ...findContradictions(desk.ledger, statement),
    ...findWrongDates(statement, now),
  ];
  if (contradictions.length > 0 && acceptForkReason === null) {
    throw new DecisionNeeded(
      "fork",
      contradictions.join("; "),
      'ask the site for the cause, and for missing statements (berth usage statement --number N); --accept-fork "REASON" accepts this one and records the reason in the ledger',
    );
  }
  const last = findStatementChain(desk.ledger, statement.iss).at(-1) ?? null;
  return { ...checked, contradictions, warnings: describeNewRestores(statement, last) };
}

/** An accepted fork may have replaced a statement that is received again. */
function describeReplacement({ ledger }: DeskRecords, { appliance, n, digest }: StatementEntry) {
  const chain = findStatementChain(ledger, appliance);
  return chain.some((entry) => entry.digest === digest)
    ? []
    : [`statement ${n} is not counted: an accepted fork replaced it`];
}

/** The answer is given again as it was signed: a key that has gone since makes it useless. */
function describeUnusableAnswer(
  desk: DeskRecords,
  { acknowledgement }: StatementDocuments,
  now: Instant,
): string[] {
  const header = readDocumentHeader(acknowledgement);
  const key = desk.keys.find(({ id }) => header.ok && id === header.value.kid);
  const state = key && stateOfKey(desk, key, now);
  return state === "retired" || state === "ended"
    ? [
        "the site refuses this answer, whose key is no longer used: that to its next statement counts",
      ]
    : [];
}

/** Records a statement and signs the answer. The same statement gets the same answer again. */
export function recordStatement(
  desk: Desk,
  text: string,
  options: ReceiveOptions,
): Promise<RecordedStatement> {
  return desk.transact(async (append) => {
    const checked = await checkStatement(desk, text, options);
    const { statement, document, digest, contradictions, recorded } = checked;
    if (recorded !== null) return recorded;
    const { iss: appliance, n, from, to, audit, restores = [] } = statement;
    const { acceptForkReason, now } = options;
    const iat = Math.floor(now / 1_000);
    const answer = { iss: desk.vendor.vendor, iat, appliance, n, digest };
    const documents = {
      document,
      acknowledgement: await signAcknowledgement(answer, desk.issuing),
    };
    const entry: StatementEntry = {
      type: "statement",
      at: rfc3339(now),
      appliance,
      n,
      digest,
      from,
      to,
      audit,
      ...(restores.length > 0 && { restores: restores.map(({ lineage }) => lineage) }),
      ...(contradictions.length > 0 && { accepted_fork: acceptForkReason ?? "" }),
      stored: await desk.ledger.storeStatement(documents),
    };
    await append(entry);
    return { ...entry, ...documents };
  });
}

/** Only licenses, products and features that this desk issued to the appliance. */
function refuseForeignLicenses(
  { iss }: UsageStatement,
  { licenses, denied }: UsageFigures,
  issued: readonly IssuedEntry[],
): void {
  if (issued.length === 0) {
    throw new DeskRefused(
      `this desk issued no license to appliance ${iss}`,
      "berth vendor list shows the licenses and their appliances",
    );
  }
  for (const { license_id, serial, product, pools } of licenses) {
    const serials = issued.filter((entry) => entry.license_id === license_id);
    const isKnown = serials.some((entry) => entry.serial === serial);
    if (!isKnown || serials[0]?.terms.product !== product) {
      throw unknownLicense(`license ${license_id}, serial ${serial}, of ${product}`);
    }
    const codes = featureCodes(serials);
    const foreign = pools.find(({ feature }) => feature !== null && !codes.has(feature));
    if (foreign !== undefined)
      throw unknownLicense(`feature ${foreign.feature} of license ${license_id}`);
  }
  for (const { product, feature } of denied) {
    const serials = issued.filter(({ terms }) => terms.product === product);
    const isKnown = feature === null || featureCodes(serials).has(feature);
    if (serials.length === 0 || !isKnown) {
      throw unknownLicense(feature === null ? product : `feature ${feature} of ${product}`);
    }
  }
}

const featureCodes = (serials: readonly IssuedEntry[]): Set<string> =>
  new Set(serials.flatMap(({ terms }) => terms.features.map(({ code }) => code)));

const unknownLicense = (name: string): DeskRefused =>
  new DeskRefused(
    `the statement reports ${name}, which this desk did not issue to that appliance`,
    "berth vendor list --all shows what was issued; if the ledger was restored from a backup, restore a newer one",
  );
