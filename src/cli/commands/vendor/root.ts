import { loadDeskRecords, readDeskTrust } from "../../../desk/desk-records.ts";
import { Root } from "../../../desk/root.ts";
import { readTrustDocument } from "../../../desk/trust-document.ts";
import {
  CODE_BITS,
  decodeCode,
  describeCodeFault,
  encodeCode,
} from "../../../license/codes/code.ts";
import { fingerprintOf, keyOfSeed, seedOf } from "../../../license/documents/keys.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { readDocument } from "../../files/input-document.ts";
import { readInputText } from "../../files/output-document.ts";
import { Failure, type Command } from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { Misuse, path } from "../../frame/options.ts";
import {
  checkNewPassphrase,
  readNewPassphrase,
  refuseBothPassphrases,
  refuseLinkedKeys,
} from "../../vendor/open-desk.ts";
import { openRoot, refuseRootInside, rootOptions } from "../../vendor/open-root.ts";

const rootWithoutPassphrase = {
  ...option.noPassphrase,
  help: "store the root without a passphrase: anyone who can read the file is the vendor",
} as const;

const print = defineCommand({
  name: "vendor root print",
  summary: "print a sheet for the safe, from which the root can be restored",
  options: { ...rootOptions, yes: option.yes, json: option.json },
  examples: ["berth vendor root print --root /media/root"],
  async run(options) {
    const question = "the sheet shows the root in the clear: who holds it is the vendor; print it?";
    const root = await openRoot(options);
    await confirm(options, question, "no other person should see the screen or the printer");
    const { name, vendor, jwk } = root.trust.vendor;
    const rows = encodeCode(seedOf(root.key), CODE_BITS.root);
    return {
      json: { vendor, name, fingerprint: fingerprintOf(jwk), rows: rows.split("\n") },
      text: [
        `root of the vendor ${name}`,
        `vendor       ${vendor}`,
        `fingerprint  ${fingerprintOf(jwk)}`,
        "",
        rows,
        "",
        "Who holds this sheet is the vendor. Keep it in a safe, with a copy of trust.jwt.",
        "To restore the root: berth vendor root restore FILE --root DIR --trust trust.jwt",
      ],
    };
  },
});

const restore = defineCommand({
  name: "vendor root restore",
  summary: "make the root's folder again from the three rows of its sheet",
  options: {
    ...rootOptions,
    trust: path("--trust FILE", "the newest trust document; default: that of the desk"),
    noPassphrase: rootWithoutPassphrase,
    json: option.json,
  },
  arguments: ["FILE"],
  examples: ["berth vendor root restore - --root /media/root --trust trust.jwt"],
  async run({ root: folder, dir, trust, rootPassphraseFile, noPassphrase }, { args: [file] }) {
    if ((trust === null) === (dir === null))
      throw new Misuse("one of --trust and --dir is required", "the newest trust document counts");
    const flag = "--root-passphrase-file";
    const what = "new passphrase of the root";
    const source = { noPassphrase, file: rootPassphraseFile, flag, what } as const;
    checkNewPassphrase(source);
    refuseBothPassphrases(source);
    refuseRootInside(dir, folder);
    Root.refuseExisting(realDisk, folder);
    const document =
      dir === null
        ? await readTrustDocument(readDocument(trust, "trust"), trust ?? "")
        : await readDeskTrust(realDisk, dir);
    const keys = dir === null ? [] : (await loadDeskRecords(realDisk, dir)).keys;
    const typed = readInputText(file, "the rows of the sheet");
    const code = decodeCode(findRows(typed) ?? typed, CODE_BITS.root);
    if (!code.ok) {
      throw new Failure(
        `the rows cannot be read: ${describeCodeFault(code.fault)}`,
        "type the three rows as they are on the sheet, one per line",
      );
    }
    const passphrase = await readNewPassphrase(source);
    const root = await Root.restore(realDisk, folder, keyOfSeed(code.bytes), document, passphrase);
    for (const { id, cert } of keys) await root.keepCertificate(id, cert);
    const { vendor, version, jwk } = root.trust.vendor;
    return {
      json: { vendor, version, fingerprint: fingerprintOf(jwk) },
      text: [
        `the root of the vendor ${vendor} is in ${folder}, with version ${version} of its trust document`,
        "if a newer version was distributed, copy its trust.jwt there before the root signs",
        ...(dir === null ? [NO_CERTIFICATES] : []),
      ],
    };
  },
});

const NO_CERTIFICATES =
  "it has no certificates of keys: berth vendor key retire --all needs the desk's folder, too";

/** The rows of a whole sheet, which has other lines, too. Null: there are not exactly three. */
function findRows(sheet: string): string | null {
  const rows = sheet.split("\n").filter((line) => ROW.test(line.trim()));
  return rows.length === ROWS ? rows.join("\n") : null;
}

const ROWS = 3;
const ROW = /^[0-9A-Z]{5}(?:-[0-9A-Z]{5}){2,3}$/i;

const passphrase = defineCommand({
  name: "vendor root passphrase",
  summary: "set, change or remove the passphrase of the root",
  options: {
    root: option.rootFolder,
    rootPassphraseFile: option.rootPassphraseFile,
    newPassphraseFile: option.newPassphraseFile,
    noPassphrase: rootWithoutPassphrase,
    json: option.json,
  },
  examples: ["berth vendor root passphrase --root /media/root"],
  async run({ root: folder, rootPassphraseFile, newPassphraseFile: file, noPassphrase }) {
    const [flag, what] = ["--new-passphrase-file", "new passphrase of the root"] as const;
    const source = { noPassphrase, file, flag, what } as const;
    refuseBothPassphrases(source);
    checkNewPassphrase(source);
    refuseLinkedKeys(folder);
    // The old one must open the root before the new one is typed twice.
    const root = await openRoot({ root: folder, dir: null, rootPassphraseFile });
    const next = await readNewPassphrase(source);
    await root.changePassphrase(next);
    return {
      json: { vendor: root.trust.vendor.vendor, encrypted: next !== null },
      text: `the root is now stored ${next === null ? "without a" : "with the new"} passphrase`,
    };
  },
});

/** The root's own passphrase, and the root on paper. */
export const rootCommands: readonly Command[] = [passphrase, print, restore];
