import { lstatSync } from "node:fs";
import { join } from "node:path";
import { fingerprintOf } from "../../../license/keys.ts";
import { realDisk } from "../../../platform/disk.ts";
import { Misuse } from "../../../platform/options.ts";
import { Desk } from "../../../desk/desk.ts";
import {
  EXIT_OK,
  Failure,
  isFlagSet,
  getListFlag,
  getStringFlag,
  type Command,
} from "../../frame/command.ts";
import { option } from "../../frame/flags.ts";
import {
  checkNewPassphraseFlags,
  readCurrentPassphrase,
  readNewPassphrase,
} from "../../vendor/open-desk.ts";
import { deskFlags as desk, getDeskFolder } from "../../vendor/open-desk.ts";
import { formatCount, print, printJson, printWarning } from "../../frame/terminal.ts";
import { successorCommand } from "./successor.ts";

const init: Command = {
  name: "vendor init",
  isCommon: true,
  summary: "create a licensing desk: a key and the trust document to distribute",
  options: [...desk, option.noPassphrase, option.name, option.vendorProducts, option.json],
  examples: [
    "berth vendor init --name Acme --dir desk --product CAD",
    "berth vendor init --name Acme --dir desk --product CAD --passphrase-file /media/safe/phrase",
  ],
  async run(flags) {
    const [name, products] = [getStringFlag(flags, "name"), getListFlag(flags, "product")];
    if (name === null || name === "" || products.length === 0 || products.includes("")) {
      throw new Misuse("--name and --product are required", "berth vendor init --help");
    }
    if (isFlagSet(flags, "no-passphrase") && flags.values.has("passphrase-file")) {
      throw new Misuse(
        "--no-passphrase and --passphrase-file cannot be combined",
        "use only one of them",
      );
    }
    const folder = getDeskFolder(flags);
    Desk.refuseExistingDesk(realDisk, folder);
    const passphrase = await readNewPassphrase(flags, "passphrase-file");
    const created = await Desk.create(realDisk, folder, {
      name,
      products: [...products],
      passphrase,
    });
    const { vendor } = created.vendor;
    const fingerprint = fingerprintOf(created.key);
    if (isFlagSet(flags, "json")) printJson({ vendor, fingerprint });
    else
      print(
        `vendor ${vendor}\nfingerprint ${fingerprint}\ndistribute trust.jwt; keep the key safe`,
      );
    return EXIT_OK;
  },
};

const passphrase: Command = {
  name: "vendor passphrase",
  summary: "set, change or remove the passphrase of the vendor's key",
  options: [...desk, option.newPassphraseFile, option.noPassphrase, option.json],
  examples: [
    "berth vendor passphrase --dir desk",
    "berth vendor passphrase --dir desk --no-passphrase",
  ],
  async run(flags) {
    if (isFlagSet(flags, "no-passphrase") && flags.values.has("new-passphrase-file")) {
      throw new Misuse(
        "--no-passphrase and --new-passphrase-file cannot be combined",
        "use only one of them",
      );
    }
    checkNewPassphraseFlags(flags, "new-passphrase-file");
    const folder = getDeskFolder(flags);
    refuseLinkedKeys(folder);
    const old = await readCurrentPassphrase(flags);
    // Checked before the new one is typed twice: the old one must open the key.
    await Desk.open(realDisk, folder, old);
    const next = await readNewPassphrase(flags, "new-passphrase-file");
    const { earlier, unchanged } = await Desk.changePassphrase(realDisk, folder, old, next);
    for (const key of unchanged) {
      printWarning(`the earlier key ${key} has another passphrase and was not changed`);
    }
    if (isFlagSet(flags, "json")) {
      const changed = { changed_earlier_keys: earlier, unchanged_earlier_keys: unchanged };
      printJson({ encrypted: next !== null, ...changed });
    } else {
      const earlierText =
        earlier.length === 0 ? "" : ` (also ${formatCount(earlier.length, "earlier key")})`;
      print(
        `the vendor's key is now stored ${next === null ? "without a" : "with the new"} passphrase${earlierText}`,
      );
    }
    return EXIT_OK;
  },
};

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
