import { wallClock } from "../../../platform/clock.ts";
import { Misuse } from "../../../platform/options.ts";
import {
  confirmActivation,
  generateInitializationCode,
  createPolicy,
  buildPolicyTerms,
} from "../../../desk/airgap.ts";
import {
  EXIT_OK,
  readOutputFlags,
  isFlagSet,
  getStringFlag,
  type Command,
} from "../../frame/command.ts";
import { parseCodeEnd, describeEnds } from "../../vendor/end-dates.ts";
import { option } from "../../frame/flags.ts";
import { checkOutputPath, outputDocument } from "../../files/output-document.ts";
import { readDocument } from "../../files/input-document.ts";
import { deskFlags, getNumberFlag, openDesk } from "../../vendor/open-desk.ts";
import { outputLedgerDocument } from "../../files/ledger-document.ts";
import { termsFlags, readTermsChanges } from "../../vendor/terms-flags.ts";
import { print, printJson, printNote, printParts } from "../../frame/terminal.ts";

export const policyCommand: Command = {
  name: "vendor policy",
  summary: "sign license terms that are not bound to a site yet, for an install medium",
  options: [
    ...deskFlags,
    { ...option.policyId, isRequired: true },
    option.replacePolicy,
    option.out,
    option.dryRun,
    option.json,
    ...termsFlags.map((flag) => (flag.name === "product" ? { ...flag, isRequired: true } : flag)),
  ],
  examples: [
    "berth vendor policy --dir desk --policy-id basic --product CAD --slots 5 --out policy.jwt",
  ],
  async run(flags) {
    const id = getStringFlag(flags, "policy-id");
    if (id === null) throw new Misuse("--policy-id is required", "choose any name for these terms");
    const changes = readTermsChanges(flags);
    checkOutputPath(readOutputFlags(flags), "policy");
    const desk = await openDesk(flags);
    const [now, replacing] = [wallClock(), { isReplacing: isFlagSet(flags, "replace") }];
    const terms = buildPolicyTerms(desk, id, changes, replacing);
    for (const end of describeEnds(terms)) printNote(end);
    if (isFlagSet(flags, "dry-run")) {
      printJson(isFlagSet(flags, "json") ? { policy_id: id, terms } : terms);
      return EXIT_OK;
    }
    const document = await createPolicy(desk, id, changes, now, replacing);
    const { valid_until } = terms;
    if (isFlagSet(flags, "json")) printJson({ policy_id: id, policy: document, valid_until });
    else {
      printParts(
        await outputLedgerDocument(readOutputFlags(flags), document, {
          description: "the policy",
          entryName: `policy ${id}`,
          retryHint: "run the same command again to write it",
        }),
      );
    }
    return EXIT_OK;
  },
};

export const initCodeCommand: Command = {
  name: "vendor init-code",
  summary: "create an initialization code for a site",
  options: [option.json],
  async run(flags) {
    const code = generateInitializationCode();
    if (isFlagSet(flags, "json")) printJson({ initialization_code: code });
    else print(code);
    return EXIT_OK;
  },
};

const CONFIRM_HINT = "berth help vendor confirm";

export const confirmCommand: Command = {
  name: "vendor confirm",
  summary: "confirm an activation code that a site read out",
  options: [
    ...deskFlags,
    { ...option.policy, isRequired: true },
    { ...option.licenseKey, isRequired: true },
    { ...option.activationCode, isRequired: true },
    option.initializationCode,
    {
      name: "valid-until",
      type: "string",
      placeholder: "DAY",
      help: "the last valid day (in UTC); default: the policy's end",
    },
    option.serial,
    option.allowWeakBinding,
    option.qr,
    option.json,
  ],
  async run(flags) {
    const [key, code] = [
      getStringFlag(flags, "license-key"),
      getStringFlag(flags, "activation-code"),
    ];
    if (key === null || code === null) {
      throw new Misuse("--license-key and --activation-code are required", CONFIRM_HINT);
    }
    const validUntil = parseCodeEnd(getStringFlag(flags, "valid-until"));
    const policy = readDocument(getStringFlag(flags, "policy"), "policy");
    const { terms, ...confirmed } = await confirmActivation(await openDesk(flags), {
      policy,
      licenseKey: key,
      activationCode: code,
      initializationCode: getStringFlag(flags, "initialization-code") ?? "",
      validUntil,
      serial: getNumberFlag(flags, "serial"),
      allowWeakBinding: isFlagSet(flags, "allow-weak-binding"),
      now: wallClock(),
    });
    for (const end of describeEnds(terms)) printNote(end);
    if (isFlagSet(flags, "json")) printJson({ ...confirmed, valid_until: terms.valid_until });
    else {
      print(`policy ${confirmed.policy_id}\n`);
      printParts(
        await outputDocument(
          readOutputFlags(flags),
          confirmed.confirmation_code,
          "the confirmation code",
        ),
      );
    }
    return EXIT_OK;
  },
};
