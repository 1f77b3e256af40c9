import type { Desk } from "../../../desk/desk.ts";
import { needsConsent } from "../../../desk/orders/judge-use.ts";
import { describeChangesSince } from "../../../desk/orders/order-placement.ts";
import { describeWriteOffs } from "../../../desk/orders/write-off.ts";
import { describeLost, readWriteOff } from "../../vendor/write-off.ts";
import { describeDocumentFault } from "../../../license/documents/document-fault.ts";
import { findUnknownLicenses } from "../../../desk/orders/unknown-licenses.ts";
import {
  verifyLicenseRequest,
  describeWants,
  type LicenseRequest,
} from "../../../license/requests/request.ts";
import { wallClock } from "../../../platform/clock.ts";
import { Misuse } from "../../frame/options.ts";
import { describeRestoreGrace } from "../../../desk/issuing/restore-grace.ts";
import {
  describeNewRestores,
  findRequestWarnings,
} from "../../../desk/issuing/request-continuity.ts";
import { findPairWarnings } from "../../../desk/issuing/pair-continuity.ts";
import { describeRequestPair } from "../../../license/requests/pair-request.ts";
import { issueLicense, prepareLicense, type PreparedLicense } from "../../../desk/issuing/issue.ts";
import { compareSiteTrust } from "../../../desk/issuing/site-trust.ts";
import { Failure } from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { readDocument } from "../../files/input-document.ts";
import { reprintLicense } from "../../vendor/reprint.ts";
import { deskOptions, formatDirFlag, openDesk } from "../../vendor/open-desk.ts";
import { checkOutputPath } from "../../files/output-document.ts";
import { outputLedgerDocument } from "../../vendor/ledger-document.ts";
import { printTerms } from "../../vendor/print-terms.ts";
import { readTermsChanges } from "../../vendor/read-terms-flags.ts";
import { writeTrustBeside } from "../../vendor/trust-beside.ts";
import { termsOptions } from "../../vendor/terms-flags.ts";
import { printNote, printWarning } from "../../frame/terminal.ts";

export const issueCommand = defineCommand({
  name: "vendor issue",
  isCommon: true,
  summary: "issue a signed license for a site's request, or renew a license",
  options: {
    ...deskOptions,
    request: {
      ...option.request,
      help: `${option.request.help}; one of --request, --renew and --reprint is required`,
    },
    renew: option.renew,
    reprint: option.reprint,
    serial: {
      ...option.serial,
      help: "with --reprint: the serial to write; default: the newest",
    },
    licenseId: option.licenseId,
    isNew: option.newLicense,
    licenseKey: option.licenseKey,
    hosts: option.hosts,
    allowWeakBinding: option.allowWeakBinding,
    acceptFork: option.acceptFork,
    writeOff: option.writeOff,
    reason: option.reason,
    out: option.out,
    dryRun: option.dryRun,
    yes: {
      ...option.yes,
      help: "do not ask for confirmation where a person must decide",
    },
    qr: option.qr,
    json: option.json,
    ...termsOptions,
  },
  examples: [
    "berth vendor issue --dir desk --request request.jwt --slots 10 --valid-until 2027-12-31 --out license.jwt",
    "berth vendor issue --dir desk --renew ID --feature MESH:slots=4:timeout=30 --no-feature EXPORT --dry-run",
    "berth vendor issue --dir desk --request request.jwt --hosts 2 --slots 10 --valid-until never --out license.jwt",
    "berth vendor issue --dir desk --reprint ID --out license.jwt",
  ],
  async run(options, { sources, setOptions }) {
    const { renew, reprint, request: path } = options;
    if (reprint !== null) return reprintLicense(reprint, options, setOptions);
    if ((path === null) === (renew === null)) {
      throw new Misuse("either --request or --renew is required", "berth vendor issue --help");
    }
    if (options.serial !== null) {
      throw new Misuse(
        "--serial is only valid with --reprint",
        "the ledger assigns serials itself",
      );
    }
    const terms = readTermsChanges(options, sources);
    checkOutputPath(options, "license");
    const request = path === null ? null : await readRequest(path);
    const desk = await openDesk(options);
    const now = wallClock();
    const siteTrust = request === null ? null : compareSiteTrust(desk, request);
    const restored = request === null ? [] : describeNewRestores(desk, request);
    const warnings =
      request === null
        ? []
        : [
            ...findRequestWarnings(desk, request, now),
            ...findPairWarnings(desk, request),
            ...(siteTrust?.warnings ?? []),
            ...describeUnknownLicenses(desk, request),
          ];
    // Before a refusal and before a question: they may explain it.
    for (const note of [...restored, ...warnings]) printWarning(note);
    const { licenseId, isNew, licenseKey, hosts, allowWeakBinding, acceptFork } = options;
    const wanted = {
      request,
      renewLicenseId: renew,
      licenseId,
      isNew,
      licenseKey,
      hosts,
      terms,
      allowWeakBinding,
      acceptForkReason: acceptFork,
      writeOff: readWriteOff(options),
      now,
    };
    const prepared = prepareLicense(desk, wanted);
    const wants = describeWants(request?.wants);
    const pair = describeRequestPair(request?.pair);
    for (const note of [wants, pair, ...describeChanges(desk, prepared)])
      if (note !== null) printNote(note);
    const { license_id, serial, changes, terms: allTerms } = prepared;
    const name = `license ${license_id}, serial ${serial}`;
    if (prepared.answered === null) printTerms(name, allTerms, options);
    const pastEnd = findPastEnd(prepared);
    const { lost, reasons, placement } = prepared;
    for (const warning of [
      describeUnknownSerial(prepared),
      pastEnd?.warning ?? null,
      lost === null ? null : describeLost(lost),
      ...reasons.map((reason) => reason.text),
    ]) {
      if (warning === null) continue;
      warnings.push(warning);
      printWarning(warning);
    }
    const { license_key, valid_until } = allTerms;
    const hostIds = prepared.bound.hosts ?? [prepared.bound.hardware_id];
    const facts = { license_id, serial, license_key, valid_until, hosts: hostIds, changes };
    const unverified = { wants: request?.wants ?? null, pair: request?.pair ?? null };
    const order = placement && { use: placement.use, used_before: placement.usedBefore };
    const result = { ...facts, terms: allTerms, ...unverified, order, reasons };
    const json = { ...result, restore_warnings: restored, warnings };
    if (options.dryRun) return { json, text: JSON.stringify(allTerms, null, 2) };
    const isEndless = lost !== null && lost.terms.valid_until === null;
    if (reasons.some(needsConsent) || isEndless)
      await confirm(options, `sign license ${license_id} nevertheless?`);
    else if (pastEnd?.isNew === true)
      await confirm(options, `sign license ${license_id} with this end?`);
    const { document } = await issueLicense(desk, wanted, prepared);
    const key = license_key === null ? "" : ` key ${license_key},`;
    const command = `berth vendor issue --reprint ${license_id} --serial ${serial}`;
    const retryHint = `${command} ${formatDirFlag(options.dir)} --out FILE writes the license again`;
    const { out } = options;
    const trust = siteTrust?.needsDocument === true ? desk.trust : null;
    return {
      notes: trust === null || out !== null ? [] : [SEND_TRUST],
      json: { ...json, document, trust: trust?.document ?? null },
      text: async () => [
        ...(await outputLedgerDocument(options, document, {
          description: `${name},${key}`,
          entryName: `${name},`,
          retryHint,
        })),
        ...(trust === null || out === null ? [] : [await writeTrustBeside(out, trust)]),
      ],
    };
  },
});

const SEND_TRUST = "the site needs the newest trust document: send it trust.jwt of the desk, too";

/** A new license beside one that the ledger lost would add its slots at the site. */
const describeUnknownLicenses = (desk: Desk, request: LicenseRequest): string[] =>
  findUnknownLicenses(desk, request)
    .filter(({ license_id }) => desk.ledger.issuedAs(license_id).length === 0)
    .map(({ license_id, text }) => `${text}: --license-id ${license_id} goes on with it`);

/** A serial that is not on the ledger is not continued: a thief of a key could use them all up. */
function describeUnknownSerial({ unknownSerial, serial, license_id }: PreparedLicense) {
  if (unknownSerial === null) return null;
  return (
    `license ${license_id}: the site has serial ${unknownSerial}, which this desk did not issue, ` +
    `and installs serial ${serial} only if the key of that license is retired. ` +
    `Either this desk is a restored copy, or a key of it was stolen. ` +
    `--license-id ${license_id} goes on from the serial of the site`
  );
}

const USES = {
  take: "the first license at one of its places",
  renewal: "a renewal by its holder",
  move: "a move to other hardware, or to a place that was used before",
} as const;

/** What the vendor should see before the license leaves, besides its terms. */
function describeChanges(
  desk: Desk,
  { before, answered, changes, terms, license_id, placement }: PreparedLicense,
): string[] {
  if (answered !== null) {
    const since = describeChangesSince(desk, answered);
    return [
      "this request was already answered: the same license is written again",
      ...(since.length === 0
        ? []
        : [`terms changed since (${since.join("; ")}): ask the site for a new request`]),
    ];
  }
  const notes = describeRestoreGrace(terms);
  if (placement !== null) {
    const { order, use, usedBefore } = placement;
    notes.push(
      `order ${order.license_key}: ${USES[use]}`,
      ...(usedBefore > 0
        ? [`${usedBefore} of its consumption is taken off: it was used before`]
        : []),
      ...describeWriteOffs(desk.ledger, order.customer),
    );
  }
  if (before === null) return notes;
  const what = changes.length === 0 ? "no term changes" : changes.join("; ");
  return [`license ${license_id}: ${what}`, ...notes];
}

/** Warns of a license that has expired when it is signed: that may be a typing error. */
function findPastEnd({ before, request, terms, license_id, now }: PreparedLicense) {
  const end = terms.valid_until;
  if (request !== null || end === null || Date.parse(end) > now) return null;
  const isNew = before?.terms.valid_until !== end;
  const what = isNew
    ? "the site cannot use it once it is installed"
    : "this renewal keeps that end; --valid-until DAY sets another";
  return { isNew, warning: `license ${license_id} expired on ${end}: ${what}` };
}

async function readRequest(path: string) {
  const verified = await verifyLicenseRequest(readDocument(path, "request"));
  if (verified.ok) return verified.value;
  throw new Failure(
    `${path} ${describeDocumentFault(verified.fault)}`,
    "ask the site for a new request",
  );
}
