import { basename, dirname, join } from "node:path";
import type { Instant } from "../../../domain/time.ts";
import {
  answerAt,
  answerDocuments,
  rehearse,
  type Answered,
  type Incoming,
} from "../../../desk/answering/answer-documents.ts";
import { rehearseRenewal, renewFromLedger } from "../../../desk/answering/renew-from-ledger.ts";
import { loadDeskRecords, type DeskRecords } from "../../../desk/desk-records.ts";
import type { IssuedEntry } from "../../../desk/ledger/ledger-entries.ts";
import { findReissuedLicenses, isSignedWithRetiredKey } from "../../../desk/ledger/license-list.ts";
import type { DocumentKind } from "../../../license/documents/document-kinds.ts";
import { wallClock } from "../../../platform/clock.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { quoteIfNeeded } from "../../../platform/shell-quote.ts";
import { EXIT_NEEDS_DECISION, EXIT_OK } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { flag, Misuse } from "../../frame/options.ts";
import { escapeToOneLine, formatCount } from "../../frame/terminal.ts";
import { findIncoming } from "../../vendor/incoming-documents.ts";
import { deskOptions, openDesk, openDeskRecords } from "../../vendor/open-desk.ts";
import {
  checkOutFolder,
  planRenewals,
  ProgressLine,
  writeDocument,
  writeRenewals,
  type RenewedFile,
} from "../../vendor/renewal-files.ts";
import { writeTrustBeside } from "../../vendor/trust-beside.ts";

export const answerCommand = defineCommand({
  name: "vendor answer",
  summary: "answer the requests, receipts and statements in a folder, as far as orders cover them",
  options: {
    ...deskOptions,
    outDir: option.outDir,
    reissue: flag(
      "--reissue",
      "also sign again every license in use whose key is retired, without requests",
    ),
    dryRun: option.dryRun,
    json: option.json,
  },
  arguments: ["DIR"],
  examples: [
    "berth vendor answer /media/usb --dir desk",
    "berth vendor answer requests --dir desk --out-dir answers --dry-run",
    "berth vendor answer requests --dir desk --reissue --out-dir answers",
  ],
  async run(options, { args: [folder] }) {
    if (folder === undefined || folder === "")
      throw new Misuse(
        "DIR is required: the folder with documents",
        "berth vendor answer /media/usb",
      );
    const { dir, outDir, dryRun } = options;
    const records = await openDeskRecords(dir);
    const { incoming, ignored, unreadable } = findIncoming(folder, records.vendor.vendor);
    if (!dryRun && (outDir !== null || incoming.length > 0)) checkOutFolder(outDir ?? folder);
    const now = wallClock();
    const toReissue = options.reissue ? findReissuedLicenses(records, now) : [];
    const [byFile, byCode] = [
      toReissue.filter(({ jwk }) => jwk !== null),
      toReissue.filter(
        (license) => license.jwk === null && isSignedWithRetiredKey(records, license),
      ),
    ];
    // Without a key first: many a folder needs none, and nobody types a passphrase in vain.
    const planned = {
      renewed: planRenewals(byFile, ({ license_id }) => rehearseRenewal(records, license_id, now)),
      answers: await answerDocuments(rehearse(records, now), incoming),
    };
    const { renewed, answers, desk } = dryRun
      ? { ...planned, desk: records }
      : await carryOut(options, outDir ?? folder, planned, byFile, incoming, now);
    const unwritten = dryRun ? [] : await writeAnswers(answers, outDir);
    const hasRenewed = renewed.some(({ file }) => file !== null);
    const renewalFolder = hasRenewed ? (outDir ?? folder) : null;
    const trustNotes = dryRun ? [] : await writeTrust(desk, answers, outDir, renewalFolder);
    const waits =
      answers.some(({ outcome }) => outcome === "decide" || outcome === "refused") ||
      renewed.some(({ obstacles }) => obstacles.length > 0) ||
      byCode.length > 0 ||
      unwritten.length + unreadable.length > 0;
    return {
      warnings: [
        ...unreadable.map((path) => `${path} cannot be read`),
        ...unwritten.map(
          (problem) => `an answer was not written: ${problem}; remove it, or use another --out-dir`,
        ),
        ...byCode.map(
          ({ license_id, appliance }) =>
            `license ${license_id} of appliance ${appliance} is by code: confirm its next activation code`,
        ),
      ],
      notes: [
        ...(dryRun ? ["nothing was signed or written"] : []),
        ...trustNotes,
        summarize(answers, renewed, ignored),
      ],
      json: {
        documents: answers.map(({ name, ...answer }) => ({
          file: name,
          ...answer,
          out: outputOf({ name, ...answer }, outDir),
        })),
        renewed,
        by_code: byCode.map(({ license_id, appliance }) => ({ license_id, appliance })),
        ignored,
        unreadable,
      },
      text: [...answers.flatMap(describeAnswer), ...renewed.map(describeRenewed)].join("\n"),
      exitCode: waits ? EXIT_NEEDS_DECISION : EXIT_OK,
    };
  },
});

interface Planned {
  readonly renewed: readonly RenewedFile[];
  readonly answers: readonly Answered[];
}

/** Opens the desk's key only if something is to be signed. */
async function carryOut(
  options: { readonly dir: string; readonly passphraseFile: string | null },
  renewalFolder: string,
  planned: Planned,
  byFile: readonly IssuedEntry[],
  incoming: readonly Incoming[],
  now: Instant,
) {
  const isSigning =
    planned.renewed.some(({ outcome }) => outcome === "renewed") ||
    planned.answers.some(({ outcome, kind }) => outcome === "answered" && kind !== "receipt");
  const signer = isSigning ? await openDesk(options) : null;
  const desk = signer ?? (await loadDeskRecords(realDisk, options.dir));
  const renewed = await writeRenewals(renewalFolder, byFile, async ({ license_id }) =>
    signer === null
      ? rehearseRenewal(desk, license_id, now)
      : renewFromLedger(signer, license_id, now),
  );
  const progress = new ProgressLine("documents", incoming.length);
  const answering = answerAt(desk, signer, now);
  const answers = await answerDocuments(answering, incoming, (done) => progress.show(done));
  progress.clear();
  return { renewed, answers, desk };
}

/** The file for an answer; null: there is none. */
function outputOf(
  { name, kind, document, request_id, appliance, number }: Answered,
  outDir: string | null,
) {
  if (document === null) return null;
  const file = kind === "usage" ? `${appliance}-${number}.ack.jwt` : `${request_id}.license.jwt`;
  return join(outDir ?? dirname(name), file);
}

/** Returns why some were not written: another file has the name. */
async function writeAnswers(
  answers: readonly Answered[],
  outDir: string | null,
): Promise<string[]> {
  const problems: string[] = [];
  const written = new Map<string, string>();
  for (const answer of answers) {
    const out = outputOf(answer, outDir);
    if (out === null || answer.document === null) continue;
    // Two appliances may use the same request id; the same request twice has the same answer.
    if ((written.get(out) ?? answer.document) !== answer.document) {
      problems.push(`${out} is the answer to another request of this folder`);
      continue;
    }
    written.set(out, answer.document);
    const kind = answer.kind === "usage" ? "ack" : "license";
    const problem = await writeDocument(out, answer.document, kind);
    if (problem !== null) problems.push(problem);
  }
  return problems;
}

/**
 * Puts the newest trust document beside the answers of sites that lack it, and beside licenses that
 * were signed again: a site refuses a license of a newer key until it has the document.
 */
async function writeTrust(
  { trust }: Pick<DeskRecords, "trust">,
  answers: readonly Answered[],
  outDir: string | null,
  renewalFolder: string | null,
): Promise<string[]> {
  const folders = new Set([
    ...answers
      .filter(({ needs_trust, document }) => needs_trust && document !== null)
      .map(({ name }) => outDir ?? dirname(name)),
    ...(renewalFolder === null ? [] : [renewalFolder]),
  ]);
  const notes: string[] = [];
  for (const folder of folders) notes.push(await writeTrustBeside(join(folder, "answer"), trust));
  return notes;
}

const OUTCOMES: Readonly<Record<Answered["outcome"], string>> = {
  answered: "answered",
  repeated: "answered before",
  recorded: "recorded",
  decide: "needs a decision",
  refused: "refused",
};

/** A line for each document, and one for each thing that a person should know of it. */
function describeAnswer(answer: Answered): string[] {
  const { name, kind, outcome, license_id, serial, number, obstacles, notes } = answer;
  const what =
    license_id !== null
      ? `, license ${license_id}, serial ${serial}`
      : number !== null
        ? `, statement ${number}`
        : "";
  const key = answer.license_key === null ? "" : `, key ${answer.license_key}`;
  const customer = answer.customer === null ? "" : ` of ${answer.customer}`;
  const why = obstacles.map(({ text }) => text).join("; ");
  const hints = [...new Set(obstacles.map(({ hint }) => hint).filter((hint) => hint !== ""))];
  const kindName = kind === null ? "document" : KIND_NAMES[kind];
  return [
    `${basename(name)}: ${kindName} ${OUTCOMES[outcome]}${what}${key}${customer}${why && `: ${why}`}`,
    ...hints.map((hint) => `  hint: ${nameFile(hint, name)}`),
    ...notes.map((note) => `  note: ${note}`),
  ].map(escapeToOneLine);
}

/** Names the document in a command that is printed to be copied. A key may contain FILE, too. */
const nameFile = (hint: string, name: string): string =>
  hint.replace(
    /(--request|receive) FILE\b/g,
    (_, word: string) => `${word} ${quoteIfNeeded(name)}`,
  );

const KIND_NAMES: Readonly<Partial<Record<DocumentKind, string>>> = {
  request: "request",
  receipt: "receipt",
  usage: "statement",
};

const describeRenewed = ({ license_id, serial, outcome, obstacles }: RenewedFile): string =>
  outcome === "decide"
    ? `license ${license_id}: needs a decision: ${obstacles.map(({ text }) => text).join("; ")}`
    : `license ${license_id}: ${outcome === "renewed" ? "signed again" : "was signed again before"}, serial ${serial}`;

const nameOutcome = (outcome: Answered["outcome"], count: number): string =>
  outcome === "decide" && count > 1 ? "need a decision" : OUTCOMES[outcome];

/** Documents and licenses need a decision for different reasons: they are counted apart. */
function summarizeRenewed(renewed: readonly RenewedFile[]): string[] {
  const waiting = renewed.filter(({ outcome }) => outcome === "decide").length;
  const done = renewed.length - waiting;
  return [
    ...(done > 0 ? [`${formatCount(done, "license")} signed again`] : []),
    ...(waiting > 0
      ? [`${formatCount(waiting, "license")} to sign again ${nameOutcome("decide", waiting)}`]
      : []),
  ];
}

function summarize(
  answers: readonly Answered[],
  renewed: readonly RenewedFile[],
  ignored: number,
): string {
  const count = (outcome: Answered["outcome"]): number =>
    answers.filter((answer) => answer.outcome === outcome).length;
  return [
    formatCount(answers.length, "document"),
    ...(["answered", "repeated", "recorded", "decide", "refused"] as const)
      .filter((outcome) => count(outcome) > 0)
      .map((outcome) => `${count(outcome)} ${nameOutcome(outcome, count(outcome))}`),
    ...summarizeRenewed(renewed),
    ...(ignored > 0 ? [`${formatCount(ignored, "other file")} left alone`] : []),
  ].join(", ");
}
