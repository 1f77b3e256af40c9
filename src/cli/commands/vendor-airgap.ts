import { wallClock } from "../../platform/clock.ts";
import { Misuse } from "../../platform/options.ts";
import {
  confirmActivation,
  generateInitializationCode,
  createPolicy,
  buildPolicyTerms,
} from "../../desk/airgap.ts";
import { DONE, isSet, stringOf, type Command } from "../command.ts";
import { codeEnd, endsIn } from "../day.ts";
import { option } from "../flags.ts";
import { checkOut, handOver } from "../handing-over.ts";
import { readDocument } from "../input-document.ts";
import { deskFlags, numberFlag, openDesk } from "../open-desk.ts";
import { handOverRecorded } from "../recorded-document.ts";
import { termsFlags, termsGiven } from "../terms-flags.ts";
import { print, printJson, printNote } from "../terminal.ts";

export const policyCommand: Command = {
  name: "vendor policy",
  summary: "sign license terms that are not bound to a site yet, for an install medium",
  options: [
    ...deskFlags,
    { ...option.policyId, required: true },
    option.replacePolicy,
    option.out,
    option.dryRun,
    option.json,
    ...termsFlags.map((one) => (one.name === "product" ? { ...one, required: true } : one)),
  ],
  examples: [
    "berth vendor policy --dir desk --policy-id basic --product CAD --slots 5 --out policy.jwt",
  ],
  async run(given) {
    const id = stringOf(given, "policy-id");
    if (id === null) throw new Misuse("--policy-id is required", "choose any name for these terms");
    const changes = termsGiven(given);
    checkOut(given, "policy");
    const desk = await openDesk(given);
    const [now, replacing] = [wallClock(), { isReplacing: isSet(given, "replace") }];
    const terms = buildPolicyTerms(desk, id, changes, replacing);
    for (const end of endsIn(terms)) printNote(end);
    if (isSet(given, "dry-run")) {
      printJson(isSet(given, "json") ? { policy_id: id, terms } : terms);
      return DONE;
    }
    const document = await createPolicy(desk, id, changes, now, replacing);
    const { valid_until } = terms;
    if (isSet(given, "json")) printJson({ policy_id: id, policy: document, valid_until });
    else {
      const again = "run the same command again to write it";
      await handOverRecorded(given, document, { what: "the policy", named: `policy ${id}`, again });
    }
    return DONE;
  },
};

export const initCodeCommand: Command = {
  name: "vendor init-code",
  summary: "create an initialization code for a site",
  options: [option.json],
  async run(given) {
    const code = generateInitializationCode();
    if (isSet(given, "json")) printJson({ initialization_code: code });
    else print(code);
    return DONE;
  },
};

const CONFIRM = "berth help vendor confirm";

export const confirmCommand: Command = {
  name: "vendor confirm",
  summary: "confirm an activation code that a site read out",
  options: [
    ...deskFlags,
    { ...option.policy, required: true },
    { ...option.licenseKey, required: true },
    { ...option.activationCode, required: true },
    option.initializationCode,
    {
      name: "valid-until",
      type: "string",
      value: "DAY",
      help: "the last valid day (in UTC); default: the policy's end",
    },
    option.serial,
    option.allowWeakBinding,
    option.qr,
    option.json,
  ],
  async run(given) {
    const [key, code] = [stringOf(given, "license-key"), stringOf(given, "activation-code")];
    if (key === null || code === null) {
      throw new Misuse("--license-key and --activation-code are required", CONFIRM);
    }
    const validUntil = codeEnd(stringOf(given, "valid-until"));
    const policy = readDocument(stringOf(given, "policy"), "policy");
    const { terms, ...confirmed } = await confirmActivation(await openDesk(given), {
      policy,
      licenseKey: key,
      activationCode: code,
      initializationCode: stringOf(given, "initialization-code") ?? "",
      validUntil,
      serial: numberFlag(given, "serial"),
      allowWeakBinding: isSet(given, "allow-weak-binding"),
      now: wallClock(),
    });
    for (const end of endsIn(terms)) printNote(end);
    if (isSet(given, "json")) printJson({ ...confirmed, valid_until: terms.valid_until });
    else {
      print(`policy ${confirmed.policy_id}\n`);
      await handOver(given, confirmed.confirmation_code, "the confirmation code");
    }
    return DONE;
  },
};
