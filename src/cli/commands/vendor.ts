import { fingerprintOf } from "../../license/keys.ts";
import { decodeTimeCode, signTime } from "../../license/time.ts";
import { wallClock } from "../../platform/clock.ts";
import { realDisk } from "../../platform/disk.ts";
import { Misuse } from "../../platform/options.ts";
import { confirmActivation, initializationCode, makePolicy } from "../../vendor/airgap.ts";
import { Desk } from "../../vendor/desk.ts";
import { inspect } from "../../vendor/inspect.ts";
import { receive } from "../../vendor/receive.ts";
import { DONE, FAILED, Failure, isSet, listOf, stringOf, type Command } from "../command.ts";
import { dayOf } from "../day.ts";
import { option } from "../flags.ts";
import { handOver, readInput } from "../handing-over.ts";
import { deskFlags as desk, deskFolder, numberFlag, openDesk, passphraseIn } from "../open-desk.ts";
import { termsFlags, termsGiven } from "../terms-flags.ts";
import { print, printJson, table } from "../terminal.ts";
import { issueCommand } from "./vendor-issue.ts";

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

const policy: Command = {
  name: "vendor policy",
  summary: "sign terms bound to nobody yet, for an install medium",
  options: [...desk, option.policyId, option.out, option.json, ...termsFlags],
  async run(given) {
    const id = stringOf(given, "policy-id");
    if (id === null) throw new Misuse("--policy-id must be given", "any name for these terms");
    const document = await makePolicy(await openDesk(given), id, termsGiven(given), wallClock());
    if (isSet(given, "json")) printJson({ policy_id: id, policy: document });
    else await handOver(given, document, "the policy");
    return DONE;
  },
};

const initCode: Command = {
  name: "vendor init-code",
  summary: "make an initialization code for a site to begin with",
  options: [option.json],
  async run(given) {
    const code = initializationCode();
    if (isSet(given, "json")) printJson({ initialization_code: code });
    else print(code);
    return DONE;
  },
};

const CONFIRM = "berth help vendor confirm";

const confirm: Command = {
  name: "vendor confirm",
  summary: "confirm an activation code that a site read out",
  options: [
    ...desk,
    option.policy,
    option.licenseKey,
    option.activationCode,
    option.initializationCode,
    { name: "valid-until", type: "string", value: "DATE", help: "an end of its own" },
    option.serial,
    option.allowWeakBinding,
    option.qr,
    option.json,
  ],
  async run(given) {
    const [key, code] = [stringOf(given, "license-key"), stringOf(given, "activation-code")];
    if (key === null || code === null) {
      throw new Misuse("--license-key and --activation-code must be given", CONFIRM);
    }
    const confirmed = await confirmActivation(await openDesk(given), {
      policy: readInput(stringOf(given, "policy"), "the policy (--policy FILE)").trim(),
      licenseKey: key,
      activationCode: code,
      initializationCode: stringOf(given, "initialization-code") ?? "",
      validUntil: dayOf(stringOf(given, "valid-until")),
      serial: numberFlag(given, "serial"),
      allowWeakBinding: isSet(given, "allow-weak-binding"),
      now: wallClock(),
    });
    if (isSet(given, "json")) printJson(confirmed);
    else {
      print(`policy ${confirmed.policy_id}\n`);
      await handOver(given, confirmed.confirmation_code, "the confirmation code");
    }
    return DONE;
  },
};

const time: Command = {
  name: "vendor time",
  summary: "answer a site's clock code with the time",
  options: [...desk, option.code, option.out, option.json],
  async run(given) {
    const asked = decodeTimeCode(stringOf(given, "code") ?? "");
    if (asked === null) throw new Failure("that is not a clock code", "berth clock prints one");
    const at = await openDesk(given);
    const iat = Math.floor(wallClock() / 1_000);
    const document = await signTime({ iss: at.vendor.vendor, iat, ...asked }, at.key);
    if (isSet(given, "json")) printJson({ time: document });
    else await handOver(given, document, "the time");
    return DONE;
  },
};

const receiveCommand: Command = {
  name: "vendor receive",
  summary: "take in a receipt: a license given back",
  options: [...desk, option.json],
  arguments: ["FILE"],
  async run(given) {
    const document = readInput(given.words[0], "the site's receipt").trim();
    const receipt = await receive(await openDesk(given), document, wallClock());
    if (isSet(given, "json")) printJson(receipt);
    else print(`license ${receipt.license_id}, serial ${receipt.serial}, was given back`);
    return DONE;
  },
};

const inspectCommand: Command = {
  name: "vendor inspect",
  summary: "show any of our documents, and whether it verifies",
  options: [...desk, option.json],
  arguments: ["FILE"],
  async run(given) {
    const document = readInput(given.words[0], "a document").trim();
    const trusting = given.values.has("dir") ? await openDesk(given) : null;
    const found = await inspect(document, trusting);
    if (isSet(given, "json")) printJson(found);
    else print(`${found.kind}: ${found.verdict}\n${JSON.stringify(found.payload, null, 2)}`);
    return found.verified ? DONE : FAILED;
  },
};

const list: Command = {
  name: "vendor list",
  everyday: true,
  summary: "what this desk issued",
  options: [...desk, option.json],
  async run(given) {
    const issued = (await openDesk(given)).ledger.issued();
    if (isSet(given, "json")) printJson(issued);
    else if (issued.length === 0) print("nothing was issued yet");
    else {
      const rows = issued.map(({ license_id, serial, appliance, terms, at }) => [
        String(license_id),
        String(serial),
        terms.product,
        terms.license_key ?? "-",
        appliance,
        at,
      ]);
      print(table([["LICENSE", "SERIAL", "PRODUCT", "KEY", "APPLIANCE", "ISSUED"], ...rows]));
    }
    return DONE;
  },
};

/** The vendor's desk. */
export const vendorCommands: readonly Command[] = [
  init,
  successor,
  issueCommand,
  policy,
  initCode,
  confirm,
  time,
  receiveCommand,
  inspectCommand,
  list,
];
