import { compareTexts } from "../../domain/text/compare-texts.ts";
import type { Instant } from "../../domain/time.ts";
import { readDocumentHeader } from "../../license/documents/document.ts";
import { describeDocumentFault } from "../../license/documents/document-fault.ts";
import type { DocumentKind } from "../../license/documents/document-kinds.ts";
import { verifyLicenseRequest, type LicenseRequest } from "../../license/requests/request.ts";
import type { Desk } from "../desk.ts";
import type { DeskRecords } from "../desk-records.ts";
import { DecisionNeeded, toObstacle, type Obstacle } from "../desk-refused.ts";
import { buildIssuedEntry, signPrepared, type PreparedLicense } from "../issuing/issue.ts";
import { checkReceipt, receiveReceipt, type CheckedReceipt } from "../issuing/receive-receipt.ts";
import { sortRequests } from "../issuing/request-order.ts";
import { compareSiteTrust } from "../issuing/site-trust.ts";
import type { Append } from "../ledger/ledger.ts";
import type { IssuedEntry } from "../ledger/ledger-entries.ts";
import { findWriteOffs } from "../orders/judge-use.ts";
import { describeWriteOffs } from "../orders/write-off.ts";
import {
  checkStatement,
  recordStatement,
  type CheckedStatement,
} from "../statements/receive-statement.ts";
import { decideRequest } from "./decide-request.ts";

/** A document of a site, for example from a file with this name. */
export interface Incoming {
  readonly name: string;
  readonly text: string;
}

export interface Answered {
  readonly name: string;
  readonly kind: DocumentKind | null;
  /**
   * `answered`: with a new document. `repeated`: with the recorded one. `recorded`: a receipt, which
   * has no answer. `decide`: a person must. `refused`: nobody can grant it.
   */
  readonly outcome: "answered" | "repeated" | "recorded" | "decide" | "refused";
  readonly appliance: string | null;
  readonly request_id: string | null;
  readonly license_id: number | null;
  readonly serial: number | null;
  readonly license_key: string | null;
  readonly customer: string | null;
  /** Of a usage statement. */
  readonly number: number | null;
  /** The answer; null: there is none, or it is not signed yet. */
  readonly document: string | null;
  /** Whether the site lacks the newest trust document. */
  readonly needs_trust: boolean;
  readonly obstacles: readonly Obstacle[];
  /** What a person may want to know although nothing waits. */
  readonly notes: readonly string[];
}

const NOTHING: Omit<Answered, "name" | "kind" | "outcome"> = {
  appliance: null,
  request_id: null,
  license_id: null,
  serial: null,
  license_key: null,
  customer: null,
  number: null,
  document: null,
  needs_trust: false,
  obstacles: [],
  notes: [],
};

/** Does what the documents ask for, or finds out what would be done. */
export interface Answering {
  readonly desk: DeskRecords;
  readonly request: (request: LicenseRequest) => Promise<Result>;
  readonly receipt: (text: string) => Promise<Result>;
  readonly statement: (text: string) => Promise<Result>;
}

type Result = Partial<Omit<Answered, "name" | "kind">> & Pick<Answered, "outcome">;

/** Finds out what would be done, with what the documents before would have changed. */
export const rehearse = (desk: DeskRecords, now: Instant): Answering => ({
  desk,
  async request(request) {
    const decision = decideRequest(desk, request, now);
    if (decision.kind === "repeat") return repeated(decision.issued, decision.changes);
    if (decision.kind === "refuse") return { obstacles: decision.obstacles, outcome: "refused" };
    if (decision.kind === "decide") {
      desk.ledger.assume(...decision.entries);
      return { obstacles: decision.obstacles, outcome: "decide" };
    }
    const issued = buildIssuedEntry(decision.prepared, "", "");
    desk.ledger.assume(...decision.prepared.notes, issued);
    return { ...answered(desk, decision.prepared, issued), document: null };
  },
  async receipt(text) {
    const checked = await checkReceipt(desk, text, now);
    if (checked.entry !== null) desk.ledger.assume(checked.entry);
    return describeReceipt(desk, checked);
  },
  statement: async (text) => describeStatement(await checkUnattended(desk, text, now)),
});

/** Decides, signs and records. Without a desk that can sign, only what needs no signature. */
export function answerAt(records: DeskRecords, signer: Desk | null, now: Instant): Answering {
  const desk = signer ?? records;
  const transact = <T>(work: (append: Append) => Promise<T>): Promise<T> =>
    signer === null ? desk.ledger.transact(work) : signer.transact(work);
  const requireSigner = (): Desk => {
    if (signer !== null) return signer;
    throw new DecisionNeeded("changed", "another command changed the desk meanwhile", RUN_AGAIN);
  };
  return {
    desk,
    request: (request) =>
      transact(async (append) => {
        const decision = decideRequest(desk, request, now);
        if (decision.kind === "repeat") return repeated(decision.issued, decision.changes);
        if (decision.kind === "refuse")
          return { obstacles: decision.obstacles, outcome: "refused" };
        if (decision.kind === "decide") {
          if (decision.entries.length > 0) await append(...decision.entries);
          return { obstacles: decision.obstacles, outcome: "decide" };
        }
        const issued = await signPrepared(requireSigner(), decision.prepared, append);
        return answered(desk, decision.prepared, issued);
      }),
    receipt: async (text) => describeReceipt(desk, await receiveReceipt(desk, text, now)),
    async statement(text) {
      const checked = await checkUnattended(desk, text, now);
      if (checked.recorded !== null) return describeStatement(checked);
      const options = { acceptForkReason: null, now };
      const { acknowledgement } = await recordStatement(requireSigner(), text, options);
      return { ...describeStatement(checked), document: acknowledgement };
    },
  };
}

const RUN_AGAIN = "run the command again";

function describeReceipt({ ledger }: DeskRecords, { receipt, entry }: CheckedReceipt): Result {
  const { appliance, license_id, serial } = receipt;
  const notes = findWriteOffs(ledger, appliance).map(({ text }) => text);
  const outcome = entry === null ? "repeated" : "recorded";
  return { outcome, appliance, license_id, serial, notes };
}

/** A statement of a machine that was written off is a finding for a person. */
async function checkUnattended(
  desk: DeskRecords,
  text: string,
  now: Instant,
): Promise<CheckedStatement> {
  const checked = await checkStatement(desk, text, { acceptForkReason: null, now });
  const [writeOff] = findWriteOffs(desk.ledger, checked.statement.iss);
  if (writeOff === undefined || checked.recorded !== null) return checked;
  throw new DecisionNeeded(writeOff.code, writeOff.text, "berth vendor receive FILE accepts it");
}

const describeStatement = ({ statement, recorded, warnings }: CheckedStatement): Result => ({
  outcome: recorded === null ? "answered" : "repeated",
  appliance: statement.iss,
  number: statement.n,
  document: recorded?.acknowledgement ?? null,
  notes: warnings,
});

const answered = (
  { ledger }: DeskRecords,
  { placement }: PreparedLicense,
  issued: IssuedEntry,
): Result => ({
  ...factsOf(issued),
  outcome: "answered",
  notes: placement === null ? [] : describeWriteOffs(ledger, placement.order.customer),
});

const factsOf = ({ license_id, serial, terms, document }: IssuedEntry) => ({
  license_id,
  serial,
  license_key: terms.license_key,
  customer: terms.customer,
  // Of a rehearsal: it is not signed.
  document: document === "" ? null : document,
});

const repeated = (issued: IssuedEntry, changes: readonly string[]) => ({
  ...factsOf(issued),
  outcome: "repeated" as const,
  notes:
    changes.length === 0
      ? []
      : [`terms changed since (${changes.join("; ")}): the site can make a new request`],
});

/**
 * Answers documents: receipts first, because they free places, then requests by appliance and in
 * the order in which it made them, then usage statements. Foreign texts are left out.
 */
export async function answerDocuments(
  answering: Answering,
  incoming: readonly Incoming[],
  onDone: (done: number) => void = () => {},
): Promise<Answered[]> {
  const sorted = await sortIncoming(incoming);
  const answers: Answered[] = [];
  for (const { name, kind, work } of [
    ...sorted.receipts,
    ...sorted.requests,
    ...sorted.statements,
  ]) {
    const answer = await guard(async () => work(answering));
    answers.push({ ...NOTHING, ...answer, name, kind });
    onDone(answers.length);
  }
  return [...sorted.refused, ...answers].toSorted((a, b) => compareTexts(a.name, b.name));
}

interface Task {
  readonly name: string;
  readonly kind: DocumentKind;
  readonly work: (answering: Answering) => Promise<Result>;
}

async function guard(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const outcome = error instanceof DecisionNeeded ? "decide" : "refused";
    return { outcome, obstacles: [toObstacle(error)] };
  }
}

async function sortIncoming(incoming: readonly Incoming[]) {
  const [receipts, statements, refused]: [Task[], Task[], Answered[]] = [[], [], []];
  const requests: { readonly name: string; readonly request: LicenseRequest }[] = [];
  for (const { name, text } of incoming) {
    const header = readDocumentHeader(text);
    const kind = header.ok ? header.value.kind : null;
    if (kind === "receipt") receipts.push({ name, kind, work: (at) => at.receipt(text) });
    if (kind === "usage") statements.push({ name, kind, work: (at) => at.statement(text) });
    if (kind !== "request") continue;
    const verified = await verifyLicenseRequest(text);
    if (verified.ok) requests.push({ name, request: verified.value });
    else {
      const problem = `the request ${describeDocumentFault(verified.fault)}`;
      const obstacle = { code: "invalid", text: problem, hint: "ask the site for a new request" };
      refused.push({ ...NOTHING, name, kind, outcome: "refused", obstacles: [obstacle] });
    }
  }
  const names = new Map(requests.map(({ name, request }) => [request, name]));
  return {
    receipts,
    statements,
    refused,
    requests: sortRequests(requests.map(({ request }) => request)).map((request): Task => ({
      name: names.get(request) ?? "",
      kind: "request",
      work: requestTask(request),
    })),
  };
}

const requestTask =
  (request: LicenseRequest) =>
  async (answering: Answering): Promise<Result> => {
    const { appliance, request_id, license_key } = request;
    const needs_trust = compareSiteTrust(answering.desk, request).needsDocument;
    const facts = { appliance, request_id, license_key, needs_trust };
    return { ...facts, ...(await guard(() => answering.request(request))) };
  };
