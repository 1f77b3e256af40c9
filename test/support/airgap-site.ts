// A site that exchanges only spoken codes with a real vendor's desk.
import { join } from "node:path";
import type { TermsDocument } from "../../src/license/terms/terms.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import {
  confirmActivation,
  createPolicy,
  type ConfirmOptions,
  USUAL_CONFIRMATION,
} from "../../src/desk/issuing/airgap.ts";
import { Desk } from "../../src/desk/desk.ts";
import {
  expectOk,
  openAppliance,
  type ApiResponse,
  type Appliance,
  type ApplianceOptions,
  type License,
} from "./appliance.ts";
import { unwrap } from "./licensed-store.ts";
import { MONDAY } from "./scenario.ts";
import { tempFolder } from "./temp-folder.ts";

export const PRODUCT = "mesh";
export const LICENSE_KEY = "MESH-0001";

export const makeDesk = (products: string[] = [PRODUCT]): Promise<Desk> =>
  Desk.create(realDisk, join(tempFolder(), "desk"), { name: "Hooli", products, passphrase: null });

/** Opens a site without a license that trusts the desk. */
export async function openAirgapSite(options: ApplianceOptions = {}): Promise<AirgapSite> {
  const site = await openAppliance({ licenses: {}, ...options });
  const desk = await makeDesk();
  unwrap(await site.vendorTrust.trustVendor(desk.trust.document, "test"));
  return new AirgapSite(site, desk);
}

export interface ActivationReply {
  readonly activation_code: string;
  readonly hardware_id: string;
  readonly expires_at: string;
}

export interface AirgapLicenseBody {
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

  makePolicy(id = "P-1", terms: Partial<TermsDocument> = {}): Promise<string> {
    const changes = { product: PRODUCT, slots: 3, valid_until: null, ...terms };
    return createPolicy(this.desk, id, changes, MONDAY);
  }

  /** Signs another policy with the same id: the earlier one can no longer be confirmed. */
  replacePolicy(id: string, terms: Partial<TermsDocument>): Promise<string> {
    const changes = { product: PRODUCT, slots: 3, valid_until: null, ...terms };
    return createPolicy(this.desk, id, changes, MONDAY, { isReplacing: true });
  }

  generateActivation(fields: object): Promise<ApiResponse<ActivationReply>> {
    return this.site.post<ActivationReply>("airgap/generate", { ...fields });
  }

  async requestActivationCode(licenseKey = LICENSE_KEY, signingKey = ""): Promise<string> {
    const fields = { license_key: licenseKey, signing_key: signingKey };
    return expectOk(await this.generateActivation(fields)).activation_code;
  }

  /** The desk's confirmation code for an activation code. */
  async confirmAtDesk(
    policy: string,
    activationCode: string,
    differing: Partial<ConfirmOptions> = {},
  ): Promise<string> {
    const confirmed = await confirmActivation(this.desk, {
      ...USUAL_CONFIRMATION,
      policy,
      licenseKey: LICENSE_KEY,
      activationCode,
      now: MONDAY,
      ...differing,
    });
    return confirmed.confirmation_code;
  }

  /** A valid request body for a new activation. */
  async makeLicenseBody(
    differing: Partial<ConfirmOptions> = {},
  ): Promise<Required<AirgapLicenseBody>> {
    const policy = differing.policy ?? (await this.makePolicy());
    const license_key = differing.licenseKey ?? LICENSE_KEY;
    const code = await this.requestActivationCode(license_key, differing.initializationCode);
    return {
      license_policy: policy,
      license_key,
      policy_id: policyIdOf(policy),
      confirmation_code: await this.confirmAtDesk(policy, code, differing),
    };
  }

  addLicense(body: AirgapLicenseBody): Promise<ApiResponse<License>> {
    return this.site.post<License>("airgap/license", { ...body });
  }
}

const policyIdOf = (policy: string): string => {
  const payload = Buffer.from(policy.split(".")[1] ?? "", "base64url").toString();
  return (JSON.parse(payload) as { policy_id: string }).policy_id;
};
