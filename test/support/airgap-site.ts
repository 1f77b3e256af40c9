// A site from which nothing comes out but a voice, and the real desk at the other end of the line.
import { join } from "node:path";
import { signTrustDocument } from "../../src/license/trust.ts";
import type { TermsDocument } from "../../src/license/terms.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { confirmActivation, createPolicy, type ConfirmOptions } from "../../src/desk/airgap.ts";
import { Desk } from "../../src/desk/desk.ts";
import {
  expectOk,
  openAppliance,
  type Answer,
  type Appliance,
  type ApplianceOptions,
  type License,
} from "./api.ts";
import { granted } from "./licensed-store.ts";
import { MONDAY } from "./scenario.ts";
import { tempFolder } from "./temp-folder.ts";

export const PRODUCT = "mesh";
export const LICENSE_KEY = "MESH-0001";

export const makeDesk = (products: string[] = [PRODUCT]): Promise<Desk> =>
  Desk.create(realDisk, join(tempFolder(), "desk"), { name: "Hooli", products, passphrase: null });

/** No license is installed, and the desk is trusted; its record begins after that. */
export async function openAirgapSite(options: ApplianceOptions = {}): Promise<AirgapSite> {
  const site = await openAppliance({ licenses: {}, ...options });
  const desk = await makeDesk();
  granted(await site.licensing.trustVendor(await signTrustDocument(desk.vendor, desk.key), "test"));
  return new AirgapSite(site, desk);
}

export interface Activated {
  readonly activation_code: string;
  readonly hardware_id: string;
  readonly expires_at: string;
}

export interface Body {
  readonly license_policy?: string;
  readonly license_key?: string;
  readonly policy_id?: string | number;
  readonly confirmation_code?: string;
}

export class AirgapSite {
  readonly site: Appliance;
  readonly desk: Desk;

  constructor(site: Appliance, desk: Desk) {
    this.site = site;
    this.desk = desk;
  }

  policy(id = "P-1", terms: Partial<TermsDocument> = {}): Promise<string> {
    return createPolicy(this.desk, id, { product: PRODUCT, slots: 3, ...terms }, MONDAY);
  }

  /** Another one under the same id: the earlier is not confirmed any more. */
  otherPolicy(id: string, terms: Partial<TermsDocument>): Promise<string> {
    const changes = { product: PRODUCT, slots: 3, ...terms };
    return createPolicy(this.desk, id, changes, MONDAY, { isReplacing: true });
  }

  generate(fields: object): Promise<Answer<Activated>> {
    return this.site.post<Activated>("airgap/generate", { ...fields });
  }

  async activationCode(licenseKey = LICENSE_KEY, signingKey = ""): Promise<string> {
    const fields = { license_key: licenseKey, signing_key: signingKey };
    return expectOk(await this.generate(fields)).activation_code;
  }

  /** What the desk says to an activation code; the differing is said to the desk. */
  async confirm(
    policy: string,
    activationCode: string,
    differing: Partial<ConfirmOptions> = {},
  ): Promise<string> {
    const confirmed = await confirmActivation(this.desk, {
      policy,
      licenseKey: LICENSE_KEY,
      activationCode,
      initializationCode: "",
      validUntil: null,
      serial: null,
      allowWeakBinding: false,
      now: MONDAY,
      ...differing,
    });
    return confirmed.confirmation_code;
  }

  /** A body that would be accepted, from a fresh activation. */
  async body(differing: Partial<ConfirmOptions> = {}): Promise<Required<Body>> {
    const policy = differing.policy ?? (await this.policy());
    const license_key = differing.licenseKey ?? LICENSE_KEY;
    const code = await this.activationCode(license_key, differing.initializationCode);
    return {
      license_policy: policy,
      license_key,
      policy_id: policyIdOf(policy),
      confirmation_code: await this.confirm(policy, code, differing),
    };
  }

  add(body: Body): Promise<Answer<License>> {
    return this.site.post<License>("airgap/license", { ...body });
  }
}

const policyIdOf = (policy: string): string => {
  const payload = Buffer.from(policy.split(".")[1] ?? "", "base64url").toString();
  return (JSON.parse(payload) as { policy_id: string }).policy_id;
};
