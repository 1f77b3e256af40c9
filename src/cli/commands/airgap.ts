import { Misuse } from "../../platform/options.ts";
import { DONE, isSet, stringOf, type Command, type Given, place } from "../command.ts";
import { option } from "../flags.ts";
import { handOver } from "../handing-over.ts";
import { readDocument } from "../input-document.ts";
import { reach } from "../reach.ts";
import { print, printJson } from "../terminal.ts";

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
  run(given) {
    const body = {
      license_key: needed(given, "license-key"),
      signing_key: stringOf(given, "initialization-code"),
    };
    return reach(place(given), async (call) => {
      const reply = (await call("POST", "/api/v4/airgap/generate", body)) as ActivationReply;
      if (isSet(given, "json")) printJson(reply);
      else {
        await handOver(given, reply.activation_code, "the activation code");
        print(`\nthe vendor can confirm it until ${reply.expires_at}`);
      }
      return DONE;
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
    option.code,
    option.policyId,
    option.json,
  ],
  examples: ["berth airgap add --policy policy.jwt --license-key ABCD-1234 --code 'NJX31-…'"],
  run(given) {
    const body = {
      license_policy: readDocument(needed(given, "policy"), "policy"),
      license_key: needed(given, "license-key"),
      policy_id: stringOf(given, "policy-id"),
      confirmation_code: needed(given, "code"),
    };
    return reach(place(given), async (call) => {
      const reply = (await call("POST", "/api/v4/airgap/license", body)) as { readonly id: number };
      if (isSet(given, "json")) printJson(reply);
      else print(`license ${reply.id} is installed`);
      return DONE;
    });
  },
};

function needed(given: Given, name: string): string {
  const value = stringOf(given, name);
  if (value === null) throw new Misuse(`--${name} is required`, "berth help airgap");
  return value;
}

/** The loop with codes, on the site. */
export const airgapCommands: readonly Command[] = [request, add];
