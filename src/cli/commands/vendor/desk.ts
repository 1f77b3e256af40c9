import { quoteIfNeeded } from "../../../platform/shell-quote.ts";
import { fingerprintOf } from "../../../license/documents/keys.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { Misuse } from "../../frame/options.ts";
import { loadDeskRecords } from "../../../desk/desk-records.ts";
import { Desk, usualRootFolder } from "../../../desk/desk.ts";
import { Root } from "../../../desk/root.ts";
import type { Command } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import {
  checkNewPassphrase,
  deskOptions,
  readCurrentPassphrase,
  readNewPassphrase,
  refuseBothPassphrases,
  refuseLinkedKeys,
} from "../../vendor/open-desk.ts";
import { openRoot, refuseRootInside } from "../../vendor/open-root.ts";

const init = defineCommand({
  name: "vendor init",
  isCommon: true,
  summary: "create a vendor: a root in a folder of its own, and a desk with an issuing key",
  options: {
    ...deskOptions,
    root: { ...option.anyRootFolder, help: "the root's folder; default: DIR-root beside the desk" },
    rootPassphraseFile: option.rootPassphraseFile,
    noPassphrase: option.noPassphrase,
    name: {
      ...option.name,
      isRequired: false,
      help: `${option.name.help}; required for a new vendor`,
    },
    products: {
      ...option.vendorProducts,
      isRequired: false,
      help: `${option.vendorProducts.help}; required for a new vendor`,
    },
    json: option.json,
  },
  examples: [
    "berth vendor init --name Acme --dir desk --product CAD --root /media/root",
    "berth vendor init --dir desk2 --root /media/root",
  ],
  async run(options) {
    const { dir, name, products, noPassphrase, passphraseFile, rootPassphraseFile } = options;
    const rootFolder = options.root ?? usualRootFolder(dir);
    const hasRoot = Root.exists(realDisk, rootFolder);
    const isNamed = name !== null && name !== "" && products.length > 0 && !products.includes("");
    if (!hasRoot && !isNamed)
      throw new Misuse("--name and --product are required", "berth vendor init --help");
    if (hasRoot && (name !== null || products.length > 0)) {
      throw new Misuse(
        `${rootFolder} has a root already: omit --name and --product to make another desk for it`,
        "for a new vendor, specify another folder with --root DIR",
      );
    }
    const key = { noPassphrase, file: passphraseFile, flag: "--passphrase-file" } as const;
    const [flag, what] = ["--root-passphrase-file", "new passphrase of the root"] as const;
    // A desk that starts unattended has a key without a passphrase, but a root with one.
    const isPlain = noPassphrase && rootPassphraseFile === null;
    const rootSource = { noPassphrase: isPlain, file: rootPassphraseFile, flag, what };
    refuseBothPassphrases(key);
    refuseRootInside(dir, rootFolder);
    Desk.refuseExisting(realDisk, dir);
    checkNewPassphrase(key);
    if (!hasRoot) checkNewPassphrase(rootSource);
    const opened = hasRoot
      ? await openRoot({ root: rootFolder, dir: null, rootPassphraseFile })
      : null;
    const ofRoot = hasRoot ? null : await readNewPassphrase(rootSource);
    const passphrase = await readNewPassphrase({
      ...key,
      what: "new passphrase of the desk's key",
    });
    if (ofRoot !== null && ofRoot === passphrase) {
      throw new Misuse(
        "the root and the desk's key must have different passphrases",
        "that of the desk's key is typed often, that of the root seldom, and never into a server",
      );
    }
    const newVendor = { name: name ?? "", products, passphrase: ofRoot };
    const root = opened ?? (await Root.create(realDisk, rootFolder, newVendor));
    const { vendor, keys } = await Desk.createFor(realDisk, dir, root, passphrase);
    const fingerprint = fingerprintOf(vendor.jwk);
    return {
      json: { vendor: vendor.vendor, fingerprint, key: keys[0]?.id ?? null, root: rootFolder },
      text: [
        `vendor ${vendor.vendor}`,
        `fingerprint ${fingerprint}`,
        `root ${rootFolder}: take it away from this machine, and print it: berth vendor root print --root ${quoteIfNeeded(rootFolder)}`,
        "distribute trust.jwt",
      ],
      notes: opened === null ? [] : [describeTrust(opened)],
    };
  },
});

/** The medium with the root may be an older copy. */
const describeTrust = ({ trust }: Root): string =>
  `the desk has version ${trust.vendor.version} of the trust document; if another desk has a newer one, take it from there: berth vendor accept trust.jwt`;

const passphrase = defineCommand({
  name: "vendor passphrase",
  summary: "set, change or remove the passphrase of the desk's keys",
  options: {
    ...deskOptions,
    newPassphraseFile: option.newPassphraseFile,
    noPassphrase: option.noPassphrase,
    json: option.json,
  },
  examples: [
    "berth vendor passphrase --dir desk",
    "berth vendor passphrase --dir desk --no-passphrase",
  ],
  async run({ dir, passphraseFile, newPassphraseFile, noPassphrase }) {
    const flag = "--new-passphrase-file";
    const source = { noPassphrase, file: newPassphraseFile, flag } as const;
    refuseBothPassphrases(source);
    checkNewPassphrase(source);
    refuseLinkedKeys(dir);
    const records = await loadDeskRecords(realDisk, dir);
    const old = await readCurrentPassphrase({ dir, passphraseFile }, records);
    // Checked before the new one is typed twice: the old one must open a key.
    await Desk.refuseWrongPassphrase(realDisk, dir, old);
    const next = await readNewPassphrase(source);
    const { changed, unchanged } = await Desk.changePassphrase(realDisk, dir, old, next);
    const keys = changed.length === 1 ? "key is" : `${changed.length} keys are`;
    return {
      warnings: unchanged.map((key) => `the key ${key} has another passphrase and was not changed`),
      json: { encrypted: next !== null, changed_keys: changed, unchanged_keys: unchanged },
      text: `the desk's ${keys} now stored ${next === null ? "without a" : "with the new"} passphrase`,
    };
  },
});

/** The desk itself. */
export const deskCommands: readonly Command[] = [init, passphrase];
