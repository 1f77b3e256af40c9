import { lstatSync } from "node:fs";
import { join } from "node:path";
import { fingerprintOf } from "../../../license/documents/keys.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { Misuse } from "../../frame/options.ts";
import { Desk } from "../../../desk/desk.ts";
import { Failure, type Command } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import {
  checkNewPassphrase,
  deskOptions,
  readCurrentPassphrase,
  readNewPassphrase,
  refuseBothPassphrases,
} from "../../vendor/open-desk.ts";
import { formatCount } from "../../frame/terminal.ts";
import { successorCommand } from "./successor.ts";

const init = defineCommand({
  name: "vendor init",
  isCommon: true,
  summary: "create a licensing desk: a key and the trust document to distribute",
  options: {
    ...deskOptions,
    noPassphrase: option.noPassphrase,
    name: option.name,
    products: option.vendorProducts,
    json: option.json,
  },
  examples: [
    "berth vendor init --name Acme --dir desk --product CAD",
    "berth vendor init --name Acme --dir desk --product CAD --passphrase-file /media/safe/phrase",
  ],
  async run({ dir, name, products, noPassphrase, passphraseFile }) {
    if (name === null || name === "" || products.length === 0 || products.includes("")) {
      throw new Misuse("--name and --product are required", "berth vendor init --help");
    }
    const source = { noPassphrase, file: passphraseFile, flag: "--passphrase-file" } as const;
    refuseBothPassphrases(source);
    Desk.refuseExistingDesk(realDisk, dir);
    const passphrase = await readNewPassphrase(source);
    const created = await Desk.create(realDisk, dir, {
      name,
      products: [...products],
      passphrase,
    });
    const { vendor } = created.vendor;
    const fingerprint = fingerprintOf(created.key);
    return {
      json: { vendor, fingerprint },
      text: `vendor ${vendor}\nfingerprint ${fingerprint}\ndistribute trust.jwt; keep the key safe`,
    };
  },
});

const passphrase = defineCommand({
  name: "vendor passphrase",
  summary: "set, change or remove the passphrase of the vendor's key",
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
    const old = await readCurrentPassphrase({ dir, passphraseFile });
    // Checked before the new one is typed twice: the old one must open the key.
    await Desk.open(realDisk, dir, old);
    const next = await readNewPassphrase(source);
    const { earlier, unchanged } = await Desk.changePassphrase(realDisk, dir, old, next);
    const earlierText =
      earlier.length === 0 ? "" : ` (also ${formatCount(earlier.length, "earlier key")})`;
    return {
      warnings: unchanged.map(
        (key) => `the earlier key ${key} has another passphrase and was not changed`,
      ),
      json: {
        encrypted: next !== null,
        changed_earlier_keys: earlier,
        unchanged_earlier_keys: unchanged,
      },
      text: `the vendor's key is now stored ${next === null ? "without a" : "with the new"} passphrase${earlierText}`,
    };
  },
});

/** If a link were replaced, its target would still be encrypted with the old passphrase. */
function refuseLinkedKeys(folder: string): void {
  if (realDisk.stat(folder) === null) return;
  for (const name of realDisk.list(folder).filter((file) => /vendor\.jw[ek]$/.test(file))) {
    const path = join(folder, name);
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) continue;
    throw new Failure(
      `${path} is a symbolic link`,
      "replace the link with the key file itself, so that no copy keeps the old passphrase",
    );
  }
}

/** The desk itself: its key and its trust documents. */
export const deskCommands: readonly Command[] = [init, passphrase, successorCommand];
