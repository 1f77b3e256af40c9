import { wallClock } from "../../platform/clock.ts";
import { Misuse } from "../../platform/options.ts";
import { confirmActivation, initializationCode, makePolicy } from "../../vendor/airgap.ts";
import { DONE, isSet, stringOf, type Command } from "../command.ts";
import { dayOf } from "../day.ts";
import { option } from "../flags.ts";
import { handOver } from "../handing-over.ts";
import { readDocument } from "../input-document.ts";
import { deskFlags as desk, numberFlag, openDesk } from "../open-desk.ts";
import { termsFlags, termsGiven } from "../terms-flags.ts";
import { print, printJson } from "../terminal.ts";
import { deskCareCommands } from "./vendor-care.ts";
import { deskCommands } from "./vendor-desk.ts";
import { documentCommands } from "./vendor-documents.ts";
import { issueCommand } from "./vendor-issue.ts";
import { listCommand } from "./vendor-list.ts";
import { productCommands } from "./vendor-product.ts";
import { showCommand } from "./vendor-show.ts";

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
    const document = readDocument(stringOf(given, "policy"), "policy");
    const confirmed = await confirmActivation(await openDesk(given), {
      policy: document,
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

/** The vendor's desk. */
export const vendorCommands: readonly Command[] = [
  ...deskCommands,
  showCommand,
  ...productCommands,
  issueCommand,
  policy,
  initCode,
  confirm,
  ...documentCommands,
  listCommand,
  ...deskCareCommands,
];
