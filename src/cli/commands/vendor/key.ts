import { Desk, usualPeriod } from "../../../desk/desk.ts";
import { loadDeskRecords, stateOfKey } from "../../../desk/desk-records.ts";
import { listIssuingKeys } from "../../../desk/key-file.ts";
import { findLicensesToReissue } from "../../../desk/ledger/license-list.ts";
import { listCertifiedKeys } from "../../../desk/root.ts";
import { describeDocumentFault } from "../../../license/documents/document-fault.ts";
import { verifyKeyRequest, type KeyRequest } from "../../../license/documents/key-request.ts";
import { fingerprintOf, keyIdOf } from "../../../license/documents/keys.ts";
import { instant, type Instant } from "../../../domain/time.ts";
import { err, ok, type Result } from "../../../domain/result.ts";
import { wallClock } from "../../../platform/clock.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { checkOutputPath, outputDocument } from "../../files/output-document.ts";
import { readDocument } from "../../files/input-document.ts";
import { Failure, type Command } from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { flag, Misuse, text, type InvalidValue } from "../../frame/options.ts";
import {
  escapeToOneLine,
  formatCount,
  formatTable,
  printNote,
  printWarning,
} from "../../frame/terminal.ts";
import { isDateOnly, parseStartTime } from "../../../license/terms/term-times.ts";
import {
  checkNewPassphrase,
  deskOptions,
  formatDirFlag,
  readNewPassphrase,
  refuseBothPassphrases,
} from "../../vendor/open-desk.ts";
import { checkTrustOutput, openRoot, outputTrust, rootOptions } from "../../vendor/open-root.ts";

const until = text("--until DAY", "the day on which the key ends (UTC); default: in five years", {
  parse: parseEnd,
});

function parseEnd(day: string): Result<Instant, InvalidValue> {
  const start = isDateOnly(day) ? parseStartTime(day) : null;
  if (start !== null && Date.parse(start) > wallClock()) return ok(instant(Date.parse(start)));
  const problem = `${escapeToOneLine(day)} is not a day in the future`;
  return err({ problem, hint: "for example 2031-01-01" });
}

const periodUntil = (end: Instant | null) => {
  const usual = usualPeriod();
  return end === null ? usual : { ...usual, until: end };
};

const newKey = defineCommand({
  name: "vendor key new",
  summary: "make a new issuing key; with --root, certify it and use it from now on",
  options: {
    ...deskOptions,
    noPassphrase: option.noPassphrase,
    root: option.anyRootFolder,
    rootPassphraseFile: option.rootPassphraseFile,
    until,
    out: option.out,
    json: option.json,
  },
  examples: [
    "berth vendor key new --dir desk --root /media/root",
    "berth vendor key new --dir desk --out key.request",
  ],
  async run({ root, out, json, until: end, ...options }) {
    const { dir, passphraseFile, noPassphrase } = options;
    if (root === null && end !== null)
      throw new Misuse("--until needs --root", "berth vendor key certify has --until, too");
    if (root !== null && out !== null)
      throw new Misuse("--out is for a root on another machine", "omit --out, or --root");
    checkOutputPath({ out, json }, "key-request");
    const source = { noPassphrase, file: passphraseFile, flag: "--passphrase-file" } as const;
    refuseBothPassphrases(source);
    checkNewPassphrase(source);
    const opened = root === null ? null : await openRoot({ ...options, root, dir });
    await loadDeskRecords(realDisk, dir);
    // Before the key is made: the desk refuses a document that lacks one of its retirements.
    if (opened !== null) await Desk.acceptTrust(realDisk, dir, opened.trust);
    const { id, request } = await Desk.makeKey(realDisk, dir, await readNewPassphrase(source));
    const { jwk } = await readRequest(request);
    const fingerprint = fingerprintOf(jwk);
    if (opened === null) {
      return {
        notes: [
          `the fingerprint of the key ${id}, to compare when it is certified: ${fingerprint}`,
          "it signs nothing until the root certifies it: berth vendor key certify",
        ],
        json: { key: id, fingerprint, request },
        text: () => outputDocument({ out, qr: false }, request, `the request for the key ${id}`),
      };
    }
    const cert = await opened.certify(jwk, periodUntil(end));
    await Desk.acceptCertificate(realDisk, dir, cert);
    const ends = rfc3339(periodUntil(end).until);
    return {
      json: { key: id, until: ends, certificate: cert },
      text: `the desk signs with the key ${id} from now on, until ${ends.slice(0, 10)}`,
    };
  },
});

async function readRequest(document: string): Promise<KeyRequest> {
  const request = await verifyKeyRequest(document);
  if (request.ok) return request.value;
  throw new Failure(
    `the file ${describeDocumentFault(request.fault)}`,
    "berth vendor key new makes it",
  );
}

const certify = defineCommand({
  name: "vendor key certify",
  summary: "certify a key that a desk on another machine made",
  options: { ...rootOptions, until, out: option.out, yes: option.yes, json: option.json },
  arguments: ["FILE"],
  examples: ["berth vendor key certify key.request --root /media/root --out key.cert"],
  async run({ out, json, until: end, ...options }, { args: [file], show }) {
    const { vendor, jwk } = await readRequest(readDocument(file, "key-request"));
    checkOutputPath({ out, json }, "key");
    const root = await openRoot(options);
    if (vendor !== root.trust.vendor.vendor) {
      throw new Failure(
        `the request is from a desk of the vendor ${vendor}, and the root is of ${root.trust.vendor.vendor}`,
        "use the root of that vendor",
      );
    }
    const period = periodUntil(end);
    const facts = [
      ["vendor", root.trust.vendor.name],
      ["key", keyIdOf(jwk)],
      ["fingerprint", fingerprintOf(jwk)],
      ["until", rfc3339(period.until).slice(0, 10)],
    ];
    // Without --out, standard output has the certificate and nothing else.
    if (out === null && !json) for (const fact of facts) printNote(fact.join(" "));
    else show(formatTable(facts));
    const question = "are key and fingerprint those that the desk printed?";
    const hint = "berth vendor show at the desk lists keys without certificate";
    await confirm(options, question, hint);
    const cert = await root.certify(jwk, period);
    return {
      json: {
        key: keyIdOf(jwk),
        fingerprint: fingerprintOf(jwk),
        until: rfc3339(period.until),
        certificate: cert,
      },
      notes: ["take it to the desk with trust.jwt of the root: berth vendor accept trust.jwt FILE"],
      text: () => outputDocument({ out, qr: false }, cert, "the certificate"),
    };
  },
});

const KEY_ID = /^[0-9A-HJKMNP-TV-Z]{16}$/;

const retire = defineCommand({
  name: "vendor key retire",
  summary: "retire keys: sites that get the new trust document accept nothing new from them",
  options: {
    ...rootOptions,
    isAll: flag("--all", "retire every key that the root's folder or the desk has"),
    out: option.out,
    yes: option.yes,
    json: option.json,
  },
  arguments: ["[ID…]"],
  examples: [
    "berth vendor key retire 8F2T66SYV840ECTC --root /media/root --out trust.jwt",
    "berth vendor key retire --all --root /media/root --dir desk",
  ],
  async run(options, { allArgs: named }) {
    const wrong = named.find((id) => !KEY_ID.test(id));
    if (wrong !== undefined)
      throw new Misuse(`${escapeToOneLine(wrong)} is not the id of a key`, "berth vendor show");
    if (options.isAll === named.length > 0)
      throw new Misuse("name the keys, or use --all", "berth vendor show lists the keys");
    checkTrustOutput(options);
    const root = await openRoot(options);
    const { dir } = options;
    const desk = dir === null ? null : await loadDeskRecords(realDisk, dir);
    // Also keys that wait for their certificate: the thief of a desk has them, too.
    const known = [
      ...listCertifiedKeys(realDisk, options.root),
      ...(desk?.keys.map(({ id }) => id) ?? []),
      ...(dir === null ? [] : listIssuingKeys(realDisk, dir)),
    ];
    if (options.isAll && known.length === 0) {
      throw new Failure(
        `${options.root} has no copy of a certificate, so --all knows no key`,
        "name the keys, or specify the desk's folder with --dir DIR",
      );
    }
    const wanted = [...new Set(options.isAll ? known : named)];
    // If the desk has another version of the document, only the next one has the keys of both.
    const { retired } = root.trust.vendor;
    const added = wanted.filter((id) => !retired.includes(id));
    // An interrupted command is repeated: its document may not be where it belongs yet.
    if (added.length === 0) {
      const what = "all of these keys are retired already";
      return outputTrust(root, options, what);
    }
    // Before the question: it may be a typing error, and the stolen key another one.
    const unknown = added.filter((id) => !known.includes(id));
    for (const id of unknown) printWarning(`no certificate of the key ${id} is known here`);
    const question = `${formatCount(added.length, "key")} (${added.join(", ")}) will be retired, which cannot be undone; continue?`;
    await confirm(options, question, "sites accept nothing new that is signed with them");
    const next = await root.signNext({ retired: [...retired, ...added] });
    const outcome = await outputTrust(next, options, `${formatCount(added.length, "key")} retired`);
    return { ...outcome, notes: dir === null ? [] : await describeRetirement(dir) };
  },
});

/** What the desk has to do next. */
async function describeRetirement(dir: string): Promise<string[]> {
  const now = wallClock();
  const records = await loadDeskRecords(realDisk, dir);
  const [current] = records.keys;
  const canSign = current !== undefined && stateOfKey(records, current, now) === "current";
  const reissue = findLicensesToReissue(records, now).length;
  const list = `berth vendor list ${formatDirFlag(dir)} --to-reissue`;
  return [
    ...(canSign ? [] : ["the desk signs nothing until it has a new key: berth vendor key new"]),
    ...(reissue === 0 ? [] : [`${formatCount(reissue, "license")} to be issued again: ${list}`]),
  ];
}

/** The issuing keys of the desk. */
export const keyCommands: readonly Command[] = [newKey, certify, retire];
