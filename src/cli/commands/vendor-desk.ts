import { fingerprintOf } from "../../license/keys.ts";
import { realDisk } from "../../platform/disk.ts";
import { Misuse } from "../../platform/options.ts";
import { Desk } from "../../vendor/desk.ts";
import { DONE, isSet, listOf, stringOf, type Command } from "../command.ts";
import { option } from "../flags.ts";
import { deskFlags as desk, deskFolder, openDesk, passphraseIn } from "../open-desk.ts";
import { print, printJson } from "../terminal.ts";

const init: Command = {
  name: "vendor init",
  everyday: true,
  summary: "make a licensing desk: a key, and the trust document to hand out",
  options: [...desk, option.name, option.products, option.json],
  examples: ["berth vendor init --name Acme --dir desk --product CAD"],
  async run(given) {
    const [name, products] = [stringOf(given, "name"), listOf(given, "product")];
    if (name === null || name === "" || products.length === 0 || products.includes("")) {
      throw new Misuse("--name and --product must be given", "berth vendor init --help");
    }
    const made = await Desk.make(realDisk, deskFolder(given), {
      name,
      products: [...products],
      passphrase: passphraseIn(given),
    });
    const { vendor } = made.vendor;
    const fingerprint = fingerprintOf(made.key);
    if (isSet(given, "json")) printJson({ vendor, fingerprint });
    else print(`vendor ${vendor}\nfingerprint ${fingerprint}\nhand out trust.jwt; keep the key`);
    return DONE;
  },
};

const successor: Command = {
  name: "vendor successor",
  summary: "a new key takes over; sites that trust the old one take the successor document",
  options: [...desk, option.json],
  async run(given) {
    const before = await openDesk(given);
    const after = await before.succeed(realDisk, deskFolder(given), passphraseIn(given));
    const fingerprint = fingerprintOf(after.key);
    if (isSet(given, "json")) printJson({ vendor: after.vendor.vendor, fingerprint });
    else
      print(
        `fingerprint ${fingerprint}\nhand out successor-${after.vendor.version}.jwt; new sites take trust.jwt first`,
      );
    return DONE;
  },
};

/** The desk itself: its key and its trust documents. */
export const deskCommands: readonly Command[] = [init, successor];
