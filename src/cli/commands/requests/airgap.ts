import { setFields, unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { readDocument } from "../../files/input-document.ts";
import { outputDocument } from "../../files/output-document.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";

const missingHint = "berth help airgap";
const licenseKey = { ...option.licenseKey, missingHint } as const;

const request = defineCommand({
  name: "airgap request",
  summary: "create an activation code to read out to the vendor",
  options: {
    ...siteOptions,
    licenseKey,
    initializationCode: option.initializationCode,
    qr: option.qr,
    json: option.json,
  },
  examples: ["berth airgap request --license-key ABCD-1234"],
  async run({ licenseKey, initializationCode, qr, ...site }, context) {
    const reply = await withAdminClient(site, context, ({ v4 }) =>
      unwrapReply(
        v4.airgap.generate.post(
          setFields({ license_key: licenseKey, signing_key: initializationCode }),
        ),
      ),
    );
    const { activation_code: code, expires_at } = reply;
    return {
      json: reply,
      text: async () => [
        ...(await outputDocument({ out: null, qr }, code, "the activation code")),
        `\nthe vendor can confirm it until ${expires_at}`,
      ],
    };
  },
});

const add = defineCommand({
  name: "airgap add",
  summary: "install a license from the vendor's policy and confirmation code",
  options: {
    ...siteOptions,
    policy: { ...option.policy, missingHint },
    licenseKey,
    code: { ...option.confirmationCode, missingHint },
    policyId: option.policyId,
    json: option.json,
  },
  examples: ["berth airgap add --policy policy.jwt --license-key ABCD-1234 --code 'NJX31-…'"],
  async run({ policy, licenseKey, code, policyId, ...site }, context) {
    const document = readDocument(policy, "policy");
    const reply = await withAdminClient(site, context, ({ v4 }) =>
      unwrapReply(
        v4.airgap.license.post(
          setFields({
            license_policy: document,
            license_key: licenseKey,
            policy_id: policyId,
            confirmation_code: code,
          }),
        ),
      ),
    );
    return { json: reply, text: `license ${reply.id} is installed` };
  },
});

/** Licenses by activation and confirmation codes, on the site. */
export const airgapCommands = [request, add];
