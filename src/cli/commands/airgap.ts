import { Misuse } from "../../platform/options.ts";
import {
  EXIT_OK,
  isFlagSet,
  getStringFlag,
  type Command,
  type FlagValues,
  getAdminTarget,
} from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { outputDocument } from "../files/output-document.ts";
import { readDocument } from "../files/input-document.ts";
import { withAdminClient } from "../client/admin-client.ts";
import { print, printJson } from "../frame/terminal.ts";

interface ActivationReply {
  readonly activation_code: string;
  readonly expires_at: string;
}

const request: Command = {
  name: "airgap request",
  summary: "create an activation code to read out to the vendor",
  options: [
    option.data,
    option.identity,
    option.config,
    option.licenseKey,
    option.initializationCode,
    option.qr,
    option.json,
  ],
  examples: ["berth airgap request --license-key ABCD-1234"],
  run(flags) {
    const body = {
      license_key: getRequiredFlag(flags, "license-key"),
      signing_key: getStringFlag(flags, "initialization-code"),
    };
    return withAdminClient(getAdminTarget(flags), async (call) => {
      const reply = (await call("POST", "/api/v4/airgap/generate", body)) as ActivationReply;
      if (isFlagSet(flags, "json")) printJson(reply);
      else {
        await outputDocument(flags, reply.activation_code, "the activation code");
        print(`\nthe vendor can confirm it until ${reply.expires_at}`);
      }
      return EXIT_OK;
    });
  },
};

const add: Command = {
  name: "airgap add",
  summary: "install a license from the vendor's policy and confirmation code",
  options: [
    option.data,
    option.identity,
    option.config,
    option.policy,
    option.licenseKey,
    option.confirmationCode,
    option.policyId,
    option.json,
  ],
  examples: ["berth airgap add --policy policy.jwt --license-key ABCD-1234 --code 'NJX31-…'"],
  run(flags) {
    const body = {
      license_policy: readDocument(getRequiredFlag(flags, "policy"), "policy"),
      license_key: getRequiredFlag(flags, "license-key"),
      policy_id: getStringFlag(flags, "policy-id"),
      confirmation_code: getRequiredFlag(flags, "code"),
    };
    return withAdminClient(getAdminTarget(flags), async (call) => {
      const reply = (await call("POST", "/api/v4/airgap/license", body)) as { readonly id: number };
      if (isFlagSet(flags, "json")) printJson(reply);
      else print(`license ${reply.id} is installed`);
      return EXIT_OK;
    });
  },
};

function getRequiredFlag(flags: FlagValues, name: string): string {
  const value = getStringFlag(flags, name);
  if (value === null) throw new Misuse(`--${name} is required`, "berth help airgap");
  return value;
}

/** Licenses by activation and confirmation codes, on the site. */
export const airgapCommands: readonly Command[] = [request, add];
