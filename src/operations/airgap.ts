import type { Fault } from "../domain/fault.ts";
import { findOpenActivations } from "../domain/install.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { OpenActivation, State } from "../domain/state.ts";
import { later, type Instant } from "../domain/time.ts";
import { isKeyRetired } from "../domain/trust.ts";
import { limits } from "../domain/limits.ts";
import { viewLicense, type LicenseView } from "../domain/views.ts";
import { deriveAirgapLicenseId } from "../license/airgap-id.ts";
import type { Bundle } from "../license/bundle.ts";
import type { CodeFault } from "../license/code.ts";
import {
  activationCodeKind,
  CONFIRMATION_VERSION,
  decodeConfirmationCode,
  encodeActivationCode,
  encodeConfirmationCode,
  verifyConfirmationCode,
  type ActivationCode,
  type ConfirmationCode,
} from "../license/confirmation.ts";
import { isWeakBinding, type HashedComponent } from "../license/hardware.ts";
import { keyIdOf, publicPart, publicKeyBytes } from "../license/keys.ts";
import { normalizePolicyText, verifyPolicy, type SignedPolicy } from "../license/policy.ts";
import { decodeTerms } from "../license/terms.ts";
import { SIGNED_WITH_RETIRED_KEY, type Vendor } from "../license/trust.ts";
import { sha256 } from "../platform/hash.ts";
import { log } from "../platform/log.ts";
import { randomBytes } from "../platform/random.ts";
import type { StorageFault } from "../store/group-commit.ts";
import type { Store } from "../store/store.ts";
import type { Identity } from "./identity.ts";
import { viewInstalledLicense, type LicenseFileFault } from "./licensing.ts";
import { checkDocumentKind } from "./document-kind-check.ts";

export type ConfirmationCodeFault =
  | { readonly code: "invalid_confirmation_code"; readonly row: number | null }
  | { readonly code: "outdated_confirmation_code" }
  | { readonly code: "policy_mismatch" }
  | { readonly code: "too_many_requests" };

export type AirgapResult<T> = Promise<
  Result<T, Fault | StorageFault | LicenseFileFault | ConfirmationCodeFault>
>;

export interface CreatedActivation {
  readonly code: string;
  readonly hardwareId: string;
  readonly expires: Instant;
}

export interface AirgapInstallInput {
  readonly policy: string;
  readonly licenseKey: string;
  /** Null: the policy's own. */
  readonly policyId: string | null;
  readonly code: string;
  readonly peer: string;
}

const WRONG_CODES = 60;
const MINUTE = 60_000;

/** The loop for sites from which nothing comes out but a voice: codes against a policy. */
export class Airgap {
  readonly #store: Store;
  readonly #identity: Identity;
  /** When wrong codes came in during the last minute. */
  #wrong: number[] = [];

  constructor(store: Store, identity: Identity) {
    this.#store = store;
    this.#identity = identity;
  }

  async createActivationCode(
    licenseKey: string,
    initializationCode: string,
    peer: string,
  ): AirgapResult<CreatedActivation> {
    const { hardware, hardwareId } = this.#identity.hashHardware();
    const nonce = randomBytes(5);
    const activation = { nonce, licenseKey, initializationCode, hardwareId, hardware };
    return this.#store.transact({ type: "MakeActivation", activation, peer }, (_state, open) => ({
      code: encodeActivationCode(this.#activationOf(open)),
      hardwareId,
      expires: later(open.at, limits.activationAge),
    }));
  }

  /** A policy, and a code that confirms one of our open activations for it. */
  async installLicense(asked: AirgapInstallInput): AirgapResult<LicenseView> {
    const found = await this.#store.read((state, at) => ({
      at,
      vendors: [...state.vendors.values()] as Vendor[],
      open: findOpenActivations(state, asked.licenseKey, at),
    }));
    if (!found.ok) return found;
    const document = normalizePolicyText(asked.policy);
    const misplaced = checkDocumentKind(document, "policy");
    if (misplaced !== null) return err(misplaced);
    const verified = await verifyPolicy(document, found.value.vendors);
    if (!verified.ok) {
      return verified.fault === "is not signed by a trusted vendor"
        ? err({ code: "untrusted_vendor" })
        : err({ code: "invalid_license_file", reason: verified.fault });
    }
    const { policy } = verified.value;
    if (asked.policyId !== null && asked.policyId !== policy.policy_id) {
      return err({ code: "policy_mismatch" });
    }
    if (this.#tooManyWrong()) return err({ code: "too_many_requests" });
    const code = decodeConfirmationCode(asked.code);
    if (!code.ok) return this.#wrongCode(code.fault, asked.peer);
    const again = await this.#installedBy(asked.licenseKey, verified.value, document, code.value);
    if (again !== null) return ok(again);
    const { key, vendor } = verified.value;
    // After the line before: what is installed already may be signed with a key retired since.
    if (isKeyRetired(vendor, keyIdOf(key), found.value.at)) {
      return err({ code: "invalid_license_file", reason: SIGNED_WITH_RETIRED_KEY });
    }
    let isOutdated = false;
    for (const open of found.value.open) {
      const confirmed = {
        activation: this.#activationOf(open),
        licenseKey: asked.licenseKey,
        policyHash: sha256(document),
        initializationCode: open.initializationCode,
      };
      if (await verifyConfirmationCode(confirmed, code.value, key)) {
        return this.#add(asked, verified.value, document, code.value, open);
      }
      isOutdated ||= await verifyConfirmationCode(confirmed, code.value, key, 1);
    }
    // Signed by the vendor for this very activation: no guess, and the vendor should know why.
    if (isOutdated) return err({ code: "outdated_confirmation_code" });
    return this.#wrongCode(null, asked.peer);
  }

  #activationOf({ nonce, hardwareId, hardware }: OpenActivation): ActivationCode {
    const weak = isWeakBinding(hardware as readonly HashedComponent[]);
    return { appliance: this.#identity.id, nonce, hardwarePrefix: hardwareId.slice(0, 10), weak };
  }

  #add(
    asked: AirgapInstallInput,
    { policy, vendor, key }: SignedPolicy,
    document: string,
    confirmation: ConfirmationCode,
    open: OpenActivation,
  ): AirgapResult<LicenseView> {
    const terms = decodeTerms(policy.terms);
    if (terms === null)
      return Promise.resolve(err({ code: "invalid_license_file", reason: "is not a policy" }));
    const bundle: Bundle = {
      version: CONFIRMATION_VERSION,
      kind: activationCodeKind(this.#activationOf(open).weak),
      policy: document,
      // In one spelling, however it was typed: the same code is the same proof.
      confirmation_code: encodeConfirmationCode(confirmation),
      license_key: asked.licenseKey,
      appliance_id: this.#identity.id,
      hardware_prefix: open.hardwareId.slice(0, 10),
      nonce: open.nonce,
      initialization_code: open.initializationCode,
      appliance_jwk: publicPart(this.#identity.key),
    };
    const { validUntil, serial, bytes } = confirmation;
    return this.#store.transact(
      {
        type: "InstallLicense",
        license: deriveAirgapLicenseId(publicKeyBytes(key), asked.licenseKey),
        terms: {
          ...terms,
          licenseKey: asked.licenseKey,
          validUntil: validUntil ?? terms.validUntil,
        },
        grant: {
          vendor: vendor.vendor,
          serial,
          document: JSON.stringify(bundle),
          lic: sha256(new Uint8Array(Buffer.from(bytes, "hex"))),
          policyId: policy.policy_id,
          hardwareId: open.hardwareId,
        },
        answers: { activation: open.nonce },
        checkedVersion: vendor.version,
        peer: asked.peer,
      },
      (state, outcome, at) => viewInstalledLicense(state, outcome.license, at),
    );
  }

  /** The same confirmed body again: done already, and said so. */
  async #installedBy(
    licenseKey: string,
    { key }: SignedPolicy,
    policy: string,
    { bytes }: ConfirmationCode,
  ): Promise<LicenseView | null> {
    const id = deriveAirgapLicenseId(publicKeyBytes(key), licenseKey);
    const lic = sha256(new Uint8Array(Buffer.from(bytes, "hex")));
    const view = await this.#store.read((state: State, at) => {
      const license = state.licenses.get(id);
      if (license?.grant.lic !== lic) return null;
      const bundle = JSON.parse(license.grant.document) as { readonly policy: string };
      return bundle.policy === policy ? viewLicense(state, license, at) : null;
    });
    return view.ok ? view.value : null;
  }

  /**
   * The row of a typing mistake is told; past that, every wrong code gets one and the same answer.
   */
  #wrongCode(fault: CodeFault | null, peer: string): Result<never, ConfirmationCodeFault> {
    this.#wrong.push(performance.now());
    log.warn("confirmation code rejected", { peer });
    return err({
      code: "invalid_confirmation_code",
      row: fault?.wrong === "row" ? fault.row : null,
    });
  }

  #tooManyWrong(): boolean {
    const since = performance.now() - MINUTE;
    this.#wrong = this.#wrong.filter((at) => at > since);
    return this.#wrong.length >= WRONG_CODES;
  }
}
