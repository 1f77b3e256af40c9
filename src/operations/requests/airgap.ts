import type { Fault } from "../../domain/model/fault.ts";
import type { ConfirmationCodeFault, LicenseFileFault } from "../../faults/fault-types.ts";
import { findOpenActivations } from "../../domain/requests/airgap-license.ts";
import { isActivationOpen } from "../../domain/requests/open-requests.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { OpenActivation, State } from "../../domain/model/state.ts";
import { later, MINUTE, type Instant } from "../../domain/time.ts";
import { findKeyFault } from "../../domain/trust/trust.ts";
import { limits } from "../../domain/model/limits.ts";
import { viewLicense, type LicenseView } from "../../domain/views/views.ts";
import { deriveAirgapLicenseId } from "../../license/codes/airgap-id.ts";
import type { Bundle } from "../../license/documents/bundle.ts";
import type { CodeFault } from "../../license/codes/code.ts";
import {
  activationCodeKind,
  CONFIRMATION_VERSION,
  decodeConfirmationCode,
  encodeActivationCode,
  encodeConfirmationCode,
  verifyConfirmationCode,
  type ActivationCode,
  type ConfirmationCode,
} from "../../license/codes/confirmation.ts";
import { canonicalizeLicenseKey } from "../../license/codes/order-key.ts";
import { isWeakBinding, type HashedComponent } from "../../license/documents/hardware.ts";
import { keyIdOf, publicPart, publicKeyBytes } from "../../license/documents/keys.ts";
import {
  normalizePolicyText,
  verifyPolicy,
  type SignedPolicy,
} from "../../license/terms/policy.ts";
import { decodeTerms } from "../../license/terms/terms.ts";
import { signingKeyOf } from "../../license/documents/trust.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import { log } from "../../platform/log.ts";
import { randomBytes } from "../../platform/crypto/random.ts";
import { RateLimiter } from "../../platform/schedule/rate-limiter.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import type { Identity } from "../appliance/identity.ts";
import { viewDecidedLicense } from "../licenses/decided-license.ts";

export type AirgapResult<T> = Promise<
  Result<T, Fault | StorageFault | LicenseFileFault | ConfirmationCodeFault>
>;

export interface CreatedActivation {
  readonly code: string;
  readonly hardwareId: string;
  readonly expires: Instant;
}

export interface OpenActivationCode {
  readonly nonce: string;
  readonly at: Instant;
  readonly licenseKey: string;
  readonly code: string;
  readonly expires: Instant;
}

export interface AirgapInstallInput {
  readonly policy: string;
  readonly licenseKey: string;
  /** Null: the id in the policy document. */
  readonly policyId: string | null;
  readonly code: string;
  readonly peer: string;
}

/** In a minute. */
const MAX_WRONG_CODES = 60;

/** Activation by codes that are read out by phone, for sites that cannot send files. */
export class Airgap {
  readonly #store: Store;
  readonly #identity: Identity;
  readonly #wrongCodes = new RateLimiter(MINUTE);

  constructor(store: Store, identity: Identity) {
    this.#store = store;
    this.#identity = identity;
  }

  async createActivationCode(
    typedLicenseKey: string,
    initializationCode: string,
    peer: string,
  ): AirgapResult<CreatedActivation> {
    const licenseKey = canonicalizeLicenseKey(typedLicenseKey);
    const { hardware, hardwareId } = this.#identity.hashHardware();
    const nonce = randomBytes(5);
    const activation = { nonce, licenseKey, initializationCode, hardwareId, hardware };
    return this.#store.transact({ type: "AirgapGenerate", activation, peer }, (_state, open) => ({
      code: encodeActivationCode(this.#activationOf(open)),
      hardwareId,
      expires: later(open.at, limits.activationAge),
    }));
  }

  /** The activation codes that a vendor may still confirm, oldest first. */
  listActivationCodes(): AirgapResult<OpenActivationCode[]> {
    return this.#store.read((state, { at }) =>
      [...state.activations.values()]
        .filter((open) => isActivationOpen(open, at))
        .map((open) => ({
          nonce: open.nonce,
          at: open.at,
          licenseKey: open.licenseKey,
          code: encodeActivationCode(this.#activationOf(open)),
          expires: later(open.at, limits.activationAge),
        })),
    );
  }

  /** Installs a license from a policy and a code that confirms an open activation for it. */
  async installLicense(typed: AirgapInstallInput): AirgapResult<LicenseView> {
    const input = { ...typed, licenseKey: canonicalizeLicenseKey(typed.licenseKey) };
    const snapshot = await this.#store.read((state, { at }) => ({
      vendors: [...state.vendors.values()],
      open: findOpenActivations(state, input.licenseKey, at),
    }));
    if (!snapshot.ok) return snapshot;
    const document = normalizePolicyText(input.policy);
    const verified = await verifyPolicy(document, snapshot.value.vendors);
    if (!verified.ok) {
      return verified.fault.wrong === "signer"
        ? err({ code: "untrusted_vendor" })
        : err({ code: "invalid_license_file", problem: verified.fault });
    }
    const { policy } = verified.value;
    if (input.policyId !== null && input.policyId !== policy.policy_id) {
      return err({ code: "policy_mismatch" });
    }
    if (this.#wrongCodes.count(performance.now()) >= MAX_WRONG_CODES)
      return err({ code: "too_many_requests" });
    const code = decodeConfirmationCode(input.code);
    if (!code.ok) return this.#rejectCode(code.fault, input.peer);
    const installed = await this.#findInstalled(
      input.licenseKey,
      verified.value,
      document,
      code.value,
    );
    if (installed !== null) return ok(installed);
    const { signer } = verified.value;
    // After the check above: the key of an installed license may be retired or have ended.
    const keyFault = await this.#store.read((state, { at }) =>
      findKeyFault(state, signingKeyOf(signer), at),
    );
    if (!keyFault.ok) return keyFault;
    if (keyFault.value !== null) return err(keyFault.value);
    for (const open of snapshot.value.open) {
      const confirmed = {
        activation: this.#activationOf(open),
        licenseKey: input.licenseKey,
        policyHash: sha256(document),
        initializationCode: open.initializationCode,
      };
      if (await verifyConfirmationCode(confirmed, code.value, signer.key)) {
        return this.#install(input, verified.value, document, code.value, open);
      }
    }
    return this.#rejectCode(null, input.peer);
  }

  #activationOf({ nonce, hardwareId, hardware }: OpenActivation): ActivationCode {
    const weak = isWeakBinding(hardware as readonly HashedComponent[]);
    return { appliance: this.#identity.id, nonce, hardwarePrefix: hardwareId.slice(0, 10), weak };
  }

  #install(
    input: AirgapInstallInput,
    { policy, signer }: SignedPolicy,
    document: string,
    confirmation: ConfirmationCode,
    open: OpenActivation,
  ): AirgapResult<LicenseView> {
    const terms = decodeTerms(policy.terms);
    if (terms === null) {
      const problem = { wrong: "content", expected: "policy" } as const;
      return Promise.resolve(err({ code: "invalid_license_file", problem }));
    }
    const bundle: Bundle = {
      version: CONFIRMATION_VERSION,
      kind: activationCodeKind(this.#activationOf(open).weak),
      policy: document,
      // Normalized, so that the same code always gives the same proof.
      confirmation_code: encodeConfirmationCode(confirmation),
      license_key: input.licenseKey,
      appliance_id: this.#identity.id,
      hardware_prefix: open.hardwareId.slice(0, 10),
      nonce: open.nonce,
      initialization_code: open.initializationCode,
      appliance_jwk: publicPart(this.#identity.key),
    };
    const { validUntil, serial, bytes } = confirmation;
    return this.#store.transact(
      {
        type: "AirgapLicense",
        license: deriveAirgapLicenseId(publicKeyBytes(signer.vendor.jwk), input.licenseKey),
        terms: {
          ...terms,
          licenseKey: input.licenseKey,
          validUntil: validUntil ?? terms.validUntil,
        },
        grant: {
          vendor: signer.vendor.vendor,
          key: keyIdOf(signer.key),
          keyUntil: signer.certificate.until,
          serial,
          document: JSON.stringify(bundle),
          lic: sha256(new Uint8Array(Buffer.from(bytes, "hex"))),
          policyId: policy.policy_id,
          hardwareId: open.hardwareId,
        },
        activation: open.nonce,
        signer: signingKeyOf(signer),
        peer: input.peer,
      },
      (state, outcome, context) => viewDecidedLicense(state, outcome.license, context),
    );
  }

  /** The license that the same policy and code installed before; null: none. */
  async #findInstalled(
    licenseKey: string,
    { signer }: SignedPolicy,
    policy: string,
    { bytes }: ConfirmationCode,
  ): Promise<LicenseView | null> {
    const id = deriveAirgapLicenseId(publicKeyBytes(signer.vendor.jwk), licenseKey);
    const lic = sha256(new Uint8Array(Buffer.from(bytes, "hex")));
    const view = await this.#store.read((state: State, context) => {
      const license = state.licenses.get(id);
      if (license?.grant.lic !== lic) return null;
      const bundle = JSON.parse(license.grant.document) as { readonly policy: string };
      return bundle.policy === policy ? viewLicense(state, license, context) : null;
    });
    return view.ok ? view.value : null;
  }

  /** The fault names a typing mistake. All other wrong codes get the same fault. */
  #rejectCode(problem: CodeFault | null, peer: string): Result<never, ConfirmationCodeFault> {
    this.#wrongCodes.add(performance.now());
    log.warn("confirmation code rejected", { peer });
    return err({ code: "invalid_confirmation_code", problem });
  }
}
