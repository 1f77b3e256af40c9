import { describeDocumentFault } from "../../../license/document-fault.ts";
import { verifyLicenseRequest } from "../../../license/request.ts";
import { wallClock } from "../../../platform/clock.ts";
import { Misuse } from "../../../platform/options.ts";
import { describeNewRestores, findRequestWarnings } from "../../../desk/request-continuity.ts";
import { prepareLicense, signPreparedLicense, type PreparedLicense } from "../../../desk/issue.ts";
import {
  EXIT_OK,
  readOutputFlags,
  Failure,
  isFlagSet,
  getStringFlag,
  type Command,
} from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { describeEnds } from "../../vendor/end-dates.ts";
import { option } from "../../frame/flags.ts";
import { readDocument } from "../../files/input-document.ts";
import { reprintFlags, reprintLicense } from "../../client/license-reprint.ts";
import { deskFlags, getDeskFolder, getNumberFlag, openDesk } from "../../vendor/open-desk.ts";
import { checkOutputPath } from "../../files/output-document.ts";
import { outputLedgerDocument } from "../../files/ledger-document.ts";
import { termsFlags, readTermsChanges } from "../../vendor/terms-flags.ts";
import { printJson, printNote, printParts, printWarning } from "../../frame/terminal.ts";

export const issueCommand: Command = {
  name: "vendor issue",
  isCommon: true,
  summary: "issue a signed license for a site's request, or renew a license",
  options: [
    ...deskFlags,
    {
      ...option.request,
      help: `${option.request.help}; one of --request, --renew and --reprint is required`,
    },
    option.renew,
    ...reprintFlags,
    option.licenseId,
    option.newLicense,
    option.licenseKey,
    option.allowWeakBinding,
    option.acceptFork,
    option.out,
    option.dryRun,
    { ...option.yes, help: "do not ask for confirmation if the license has already expired" },
    option.qr,
    option.json,
    ...termsFlags,
  ],
  examples: [
    "berth vendor issue --dir desk --request request.jwt --slots 10 --out license.jwt",
    "berth vendor issue --dir desk --renew ID --feature MESH:slots=4:timeout=30 --no-feature EXPORT --dry-run",
    "berth vendor issue --dir desk --reprint ID --out license.jwt",
  ],
  async run(flags) {
    const reprintId = getNumberFlag(flags, "reprint");
    if (reprintId !== null) {
      await reprintLicense(flags, reprintId);
      return EXIT_OK;
    }
    const renew = getNumberFlag(flags, "renew");
    const path = getStringFlag(flags, "request");
    if ((path === null) === (renew === null)) {
      throw new Misuse("either --request or --renew is required", "berth vendor issue --help");
    }
    if (flags.values.has("serial")) {
      throw new Misuse(
        "--serial is only valid with --reprint",
        "the ledger assigns serials itself",
      );
    }
    const terms = readTermsChanges(flags);
    checkOutputPath(readOutputFlags(flags), "license");
    const request = path === null ? null : await readRequest(path);
    const desk = await openDesk(flags);
    const now = wallClock();
    const restored = request === null ? [] : describeNewRestores(desk, request);
    const warnings = request === null ? [] : findRequestWarnings(desk, request, now);
    for (const note of [...restored, ...warnings]) printWarning(note);
    const prepared = prepareLicense(desk, {
      request,
      renewLicenseId: renew,
      licenseId: getNumberFlag(flags, "license-id"),
      isNew: isFlagSet(flags, "new"),
      licenseKey: getStringFlag(flags, "license-key"),
      terms,
      allowWeakBinding: isFlagSet(flags, "allow-weak-binding"),
      acceptForkReason: getStringFlag(flags, "accept-fork"),
      now,
    });
    for (const note of describeChanges(prepared)) printNote(note);
    const pastEnd = findPastEnd(prepared);
    if (pastEnd !== null) {
      warnings.push(pastEnd.warning);
      printWarning(pastEnd.warning);
    }
    const { license_id, serial, changes } = prepared;
    const { license_key, valid_until } = prepared.terms;
    const facts = { license_id, serial, license_key, valid_until, changes };
    if (isFlagSet(flags, "dry-run")) {
      const preview = { ...facts, terms: prepared.terms, restore_warnings: restored, warnings };
      printJson(isFlagSet(flags, "json") ? preview : prepared.terms);
      return EXIT_OK;
    }
    if (pastEnd?.isNew === true)
      await confirm(readOutputFlags(flags), `sign license ${license_id} with this end?`);
    const { document } = await signPreparedLicense(desk, prepared);
    if (isFlagSet(flags, "json")) {
      printJson({ ...facts, document, restore_warnings: restored, warnings });
      return EXIT_OK;
    }
    const key = license_key === null ? "" : ` key ${license_key},`;
    const name = `license ${license_id}, serial ${serial},`;
    const command = `berth vendor issue --reprint ${license_id} --serial ${serial}`;
    const hint = `${command} --dir ${getDeskFolder(flags)} --out FILE writes the license again`;
    printParts(
      await outputLedgerDocument(readOutputFlags(flags), document, {
        description: `${name}${key}`,
        entryName: name,
        retryHint: hint,
      }),
    );
    return EXIT_OK;
  },
};

/** What the vendor should see before the license leaves: what it changes, and when it ends. */
function describeChanges({
  before,
  answered,
  changes,
  terms,
  license_id,
}: PreparedLicense): string[] {
  const ends = describeEnds(terms);
  if (answered !== null)
    return ["this request was already answered: the same license is written again"];
  if (before === null) return ends;
  const what = changes.length === 0 ? "no term changes" : changes.join("; ");
  return [`license ${license_id}: ${what}`, ...ends];
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
