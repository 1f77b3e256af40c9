import { DAY, instant, later, type Instant } from "../../../domain/time.ts";
import { wallClock } from "../../../platform/clock.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import type { Desk } from "../../../desk/desk.ts";
import { endOfKey } from "../../../desk/desk-records.ts";
import { Misuse, text } from "../../frame/options.ts";
import {
  confirmActivation,
  generateInitializationCode,
  createPolicy,
  buildPolicyTerms,
  type ConfirmOptions,
} from "../../../desk/issuing/airgap.ts";
import { DecisionNeeded } from "../../../desk/desk-refused.ts";
import { confirm } from "../../frame/confirm.ts";
import { printWarning } from "../../frame/terminal.ts";
import { describeLost, readWriteOff } from "../../vendor/write-off.ts";
import { describeRestoreGrace } from "../../../desk/issuing/restore-grace.ts";
import { parseCodeEnd, describeEnds } from "../../vendor/end-dates.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { checkOutputPath, outputDocument } from "../../files/output-document.ts";
import { readDocument } from "../../files/input-document.ts";
import { deskOptions, openDesk } from "../../vendor/open-desk.ts";
import { outputLedgerDocument } from "../../vendor/ledger-document.ts";
import { printTerms } from "../../vendor/print-terms.ts";
import { readTermsChanges } from "../../vendor/read-terms-flags.ts";
import { termsOptions } from "../../vendor/terms-flags.ts";

export const policyCommand = defineCommand({
  name: "vendor policy",
  summary: "sign license terms that are not bound to a site yet, for an install medium",
  options: {
    ...deskOptions,
    policyId: {
      ...option.policyId,
      isRequired: true,
      missingHint: "choose any name for these terms",
    },
    isReplacing: option.replacePolicy,
    out: option.out,
    dryRun: option.dryRun,
    json: option.json,
    ...termsOptions,
    product: { ...termsOptions.product, isRequired: true },
  },
  examples: [
    "berth vendor policy --dir desk --policy-id basic --product CAD --slots 5 --valid-until 2027-12-31 --out policy.jwt",
  ],
  async run(options, { sources }) {
    const { policyId, isReplacing, out, json } = options;
    const changes = readTermsChanges(options, sources);
    checkOutputPath({ out, json }, "policy");
    const desk = await openDesk(options);
    const terms = buildPolicyTerms(desk, policyId, changes, { isReplacing });
    const notes = describeRestoreGrace(terms);
    printTerms(`policy ${policyId}`, terms, options);
    if (options.dryRun) {
      const text = JSON.stringify(terms, null, 2);
      return { notes, json: { policy_id: policyId, terms }, text };
    }
    const document = await createPolicy(desk, policyId, changes, wallClock(), { isReplacing });
    const { valid_until } = terms;
    const codes = describeCodesEnd(desk, wallClock());
    return {
      notes: [...notes, ...codes.notes],
      warnings: codes.warnings,
      json: { policy_id: policyId, policy: document, terms, valid_until, codes_until: codes.until },
      text: () =>
        outputLedgerDocument({ out, qr: false }, document, {
          description: "the policy",
          entryName: `policy ${policyId}`,
          retryHint: "run the same command again to write it",
        }),
    };
  },
});

/** So long codes of a policy should be possible at least: for a license of a year. */
const MIN_CODE_DAYS = 400;

/** Sites accept codes of a policy until the key that signed it ends. */
function describeCodesEnd({ keys }: Desk, now: Instant) {
  const [current] = keys;
  if (current === undefined) return { until: null, notes: [], warnings: [] };
  const end = endOfKey(current);
  const lastDay = rfc3339(instant(end - 1)).slice(0, 10);
  const text = `sites accept confirmation codes of this policy until ${lastDay}, when its key ends`;
  const isSoon = end < later(now, MIN_CODE_DAYS * DAY);
  const until = rfc3339(end);
  if (!isSoon) return { until, notes: [text], warnings: [] };
  const warning = `${text}; for longer, make a new key first: berth vendor key new`;
  return { until, notes: [], warnings: [warning] };
}

export const initCodeCommand = defineCommand({
  name: "vendor init-code",
  summary: "create an initialization code for a site",
  options: { json: option.json },
  run() {
    const code = generateInitializationCode();
    return { json: { initialization_code: code }, text: code };
  },
});

const CONFIRM_HINT = "berth help vendor confirm";

export const confirmCommand = defineCommand({
  name: "vendor confirm",
  summary: "confirm an activation code that a site read out",
  options: {
    ...deskOptions,
    policy: { ...option.policy, isRequired: true },
    licenseKey: { ...option.licenseKey, isRequired: true },
    activationCode: { ...option.activationCode, isRequired: true },
    initializationCode: option.initializationCode,
    validUntil: text("--valid-until DAY", "the last valid day (in UTC); default: the policy's end"),
    serial: option.serial,
    allowWeakBinding: option.allowWeakBinding,
    writeOff: option.writeOff,
    reason: option.reason,
    yes: { ...option.yes, help: "do not ask for confirmation where a person must decide" },
    qr: option.qr,
    json: option.json,
  },
  async run(options) {
    const { licenseKey, activationCode, initializationCode, serial, allowWeakBinding } = options;
    if (licenseKey === null || activationCode === null) {
      throw new Misuse("--license-key and --activation-code are required", CONFIRM_HINT);
    }
    const validUntil = parseCodeEnd(options.validUntil);
    const policy = readDocument(options.policy, "policy");
    const wanted = {
      policy,
      licenseKey,
      activationCode,
      initializationCode: initializationCode ?? "",
      validUntil,
      serial,
      allowWeakBinding,
      writeOff: readWriteOff(options),
      now: wallClock(),
    };
    const desk = await openDesk(options);
    const { terms, reasons, lost, ...confirmed } = await confirmAfterQuestion(
      desk,
      wanted,
      options,
    );
    const { policy_id, confirmation_code } = confirmed;
    const output = { out: null, qr: options.qr };
    return {
      warnings: [
        ...(lost === null ? [] : [describeLost(lost)]),
        ...reasons.map(({ text }) => text),
      ],
      notes: [...describeEnds(terms), ...describeRestoreGrace(terms)],
      json: { ...confirmed, reasons, valid_until: terms.valid_until },
      text: async () => [
        `policy ${policy_id}\n`,
        ...(await outputDocument(output, confirmation_code, "the confirmation code")),
      ],
    };
  },
});

/** Asks where the order does not cover the code: the reasons are known only after all checks. */
async function confirmAfterQuestion(
  desk: Desk,
  wanted: Omit<ConfirmOptions, "isDecided">,
  options: { readonly yes: boolean },
) {
  try {
    return await confirmActivation(desk, { ...wanted, isDecided: options.yes });
  } catch (error) {
    if (!(error instanceof DecisionNeeded) || error.code !== "reasons") throw error;
    printWarning(error.message);
    await confirm(options, "confirm the code nevertheless?");
    return confirmActivation(desk, { ...wanted, isDecided: true });
  }
}
