import { verifyLicenseRequest } from "../../license/request.ts";
import { wallClock } from "../../platform/clock.ts";
import { Misuse } from "../../platform/options.ts";
import { describeNewRestores, findRequestWarnings } from "../../desk/request-continuity.ts";
import { prepareLicense, signPreparedLicense, type PreparedLicense } from "../../desk/issue.ts";
import { DONE, Failure, isSet, stringOf, type Command } from "../command.ts";
import { confirm } from "../confirm.ts";
import { endsIn } from "../day.ts";
import { option } from "../flags.ts";
import { readDocument } from "../input-document.ts";
import { againFlags, writeAgain } from "../license-again.ts";
import { deskFlags, deskFolder, numberFlag, openDesk } from "../open-desk.ts";
import { checkOut } from "../handing-over.ts";
import { handOverRecorded } from "../recorded-document.ts";
import { termsFlags, termsGiven } from "../terms-flags.ts";
import { printJson, printNote, printWarning } from "../terminal.ts";

export const issueCommand: Command = {
  name: "vendor issue",
  everyday: true,
  summary: "issue a signed license for a site's request, or renew a license",
  options: [
    ...deskFlags,
    {
      ...option.request,
      help: `${option.request.help}; one of --request, --renew and --reprint is required`,
    },
    option.renew,
    ...againFlags,
    option.licenseId,
    option.isNew,
    option.licenseKey,
    option.allowWeakBinding,
    option.acceptFork,
    option.out,
    option.dryRun,
    { ...option.yes, help: "do not ask for confirmation if the license ends in the past" },
    option.qr,
    option.json,
    ...termsFlags,
  ],
  examples: [
    "berth vendor issue --dir desk --request request.jwt --slots 10 --out license.jwt",
    "berth vendor issue --dir desk --renew ID --feature MESH:slots=4:timeout=30 --no-feature EXPORT --dry-run",
    "berth vendor issue --dir desk --reprint ID --out license.jwt",
  ],
  async run(given) {
    const again = numberFlag(given, "reprint");
    if (again !== null) {
      await writeAgain(given, again);
      return DONE;
    }
    const renew = numberFlag(given, "renew");
    const path = stringOf(given, "request");
    if ((path === null) === (renew === null)) {
      throw new Misuse("either --request or --renew is required", "berth vendor issue --help");
    }
    if (given.values.has("serial")) {
      throw new Misuse(
        "--serial is only valid with --reprint",
        "the ledger assigns serials itself",
      );
    }
    const terms = termsGiven(given);
    checkOut(given, "license");
    const request = path === null ? null : await requestIn(path);
    const opened = await openDesk(given);
    const now = wallClock();
    const restored = request === null ? [] : describeNewRestores(opened, request);
    const warnings = request === null ? [] : findRequestWarnings(opened, request, now);
    for (const note of [...restored, ...warnings]) printWarning(note);
    const prepared = prepareLicense(opened, {
      request,
      renewLicenseId: renew,
      licenseId: numberFlag(given, "license-id"),
      isNew: isSet(given, "new"),
      licenseKey: stringOf(given, "license-key"),
      terms,
      allowWeakBinding: isSet(given, "allow-weak-binding"),
      acceptForkReason: stringOf(given, "accept-fork"),
      now,
    });
    for (const note of notesAbout(prepared)) printNote(note);
    const over = pastEnd(prepared);
    if (over !== null) {
      warnings.push(over.warning);
      printWarning(over.warning);
    }
    const { license_id, serial, changes } = prepared;
    const { license_key, valid_until } = prepared.terms;
    const about = { license_id, serial, license_key, valid_until, changes };
    if (isSet(given, "dry-run")) {
      const shown = { ...about, terms: prepared.terms, restore_warnings: restored, warnings };
      printJson(isSet(given, "json") ? shown : prepared.terms);
      return DONE;
    }
    if (over?.isNew === true) await confirm(given, `sign license ${license_id} with this end?`);
    const { document } = await signPreparedLicense(opened, prepared);
    if (isSet(given, "json")) {
      printJson({ ...about, document, restore_warnings: restored, warnings });
      return DONE;
    }
    const key = license_key === null ? "" : ` key ${license_key},`;
    const named = `license ${license_id}, serial ${serial},`;
    const write = `berth vendor issue --reprint ${license_id} --serial ${serial}`;
    const hint = `${write} --dir ${deskFolder(given)} --out FILE writes the license again`;
    await handOverRecorded(given, document, { what: `${named}${key}`, named, again: hint });
    return DONE;
  },
};

/** What the vendor should see before the license leaves: what it changes, and when it ends. */
function notesAbout({ before, answered, changes, terms, license_id }: PreparedLicense): string[] {
  const ends = endsIn(terms);
  if (answered !== null)
    return ["this request was already answered: the same license is written again"];
  if (before === null) return ends;
  const what = changes.length === 0 ? "no term changes" : changes.join("; ");
  return [`license ${license_id}: ${what}`, ...ends];
}

/** What should be meant, and not a slip of the hand: a license that is over when it is signed. */
function pastEnd({ before, request, terms, license_id, now }: PreparedLicense) {
  const end = terms.valid_until;
  if (request !== null || end === null || Date.parse(end) > now) return null;
  const isNew = before?.terms.valid_until !== end;
  const what = isNew
    ? "the site cannot use it once it is installed"
    : "this renewal keeps that end; --valid-until DAY sets another";
  return { isNew, warning: `license ${license_id} ended on ${end}: ${what}` };
}

async function requestIn(path: string) {
  const verified = await verifyLicenseRequest(readDocument(path, "request"));
  if (verified.ok) return verified.value;
  throw new Failure(`${path} ${verified.fault}`, "ask the site for a new request");
}
