import type { Fault } from "../../domain/model/fault.ts";
import type { LicenseFileFault } from "../../faults/fault-types.ts";
import {
  filterValidLicenses,
  findLicenses,
  findMissingFields,
  type LicenseSelector,
} from "../../domain/licenses/licenses.ts";
import { findKeyFault } from "../../domain/trust/trust.ts";
import { findRequestWarnings } from "../../domain/requests/request-warnings.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { findOpenRequests, findRequestToShow } from "../../domain/requests/open-requests.ts";
import type { OpenRequest, RequestWants, State, Tombstone } from "../../domain/model/state.ts";
import type { ReportedHead } from "../../domain/model/pair/licensed-host.ts";
import type { WantedHosts } from "../../domain/licenses/requested-pair.ts";
import { instant, type Instant } from "../../domain/time.ts";
import { viewLicense, type LicenseView } from "../../domain/views/views.ts";
import { canonicalizeLicenseKey } from "../../license/codes/order-key.ts";
import { buildCloudRequest } from "../../license/requests/cloud-request.ts";
import { publicPart } from "../../license/documents/keys.ts";
import { verifyLicense } from "../../license/documents/license.ts";
import { signReceipt } from "../../license/documents/receipt.ts";
import { signLicenseRequest, type LicenseRequest } from "../../license/requests/request.ts";
import { signingKeyOf } from "../../license/documents/trust.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import { randomId } from "../../platform/crypto/random.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { LogEnd } from "../../store/log/shared-log.ts";
import type { Store } from "../../store/store.ts";
import type { CloudCredentials } from "../appliance/cloud-credentials.ts";
import { flattenResult, type OperationResult } from "../command-runner.ts";
import { viewInstalledLicense, type InstalledLicenseView } from "./decided-license.ts";
import type { Identity } from "../appliance/identity.ts";
import { buildLicenseRequest } from "../requests/build-license-request.ts";

type LicensingResult<T> = Promise<Result<T, Fault | StorageFault | LicenseFileFault>>;

export interface CreatedLicenseRequest {
  readonly request: string;
  readonly at: Instant;
  readonly hardwareId: string;
  /** The names of both hosts; empty: the request is for one. */
  readonly hosts: readonly string[];
  readonly product: string | null;
  readonly licenseKey: string | null;
  readonly document: string;
  /**
   * The same request in the form of a licensing cloud; null unless both keys are set and there is a
   * license key.
   */
  readonly cloud: string | null;
  /** Reasons why the vendor's license may not be installable here. */
  readonly warnings: readonly string[];
}

interface DescribedRequest {
  readonly content: LicenseRequest;
  readonly warnings: readonly string[];
}

export type HostHeadReader = (end: LogEnd) => readonly ReportedHead[];

/** Requests, installs, finds and returns licenses. */
export class Licensing {
  readonly #store: Store;
  readonly #identity: Identity;
  readonly #credentials: CloudCredentials;
  readonly #readHostHeads: HostHeadReader;

  /** `readHostHeads`: where the journals of the hosts end, given where that of this host does. */
  constructor(
    store: Store,
    identity: Identity,
    credentials: CloudCredentials,
    readHostHeads: HostHeadReader = () => [],
  ) {
    this.#store = store;
    this.#readHostHeads = readHostHeads;
    this.#identity = identity;
    this.#credentials = credentials;
  }

  /** The license that a new user would get a slot of; an invalid one if none is valid. */
  async findLicense(selector: LicenseSelector): OperationResult<LicenseView> {
    return flattenResult(
      await this.#store.read((state, context): Result<LicenseView, Fault> => {
        const missing = findMissingFields(state, selector, {});
        if (missing.length > 0) return err({ code: "missing_parameters", fields: missing });
        const licenses = findLicenses(state, selector);
        if (!licenses.ok) return licenses;
        const valid = filterValidLicenses(state, licenses.value, context);
        const [license] = valid.ok ? valid.value : licenses.value;
        return license
          ? ok(viewLicense(state, license, context))
          : err({ code: "license_not_found" });
      }),
    );
  }

  listLicenses(): OperationResult<LicenseView[]> {
    return this.#store.read((state, context) =>
      [...state.licenses.values()].map((license) => viewLicense(state, license, context)),
    );
  }

  /** Creates a license request. It is on disk before it is returned. */
  async request(
    product: string | null,
    licenseKey: string | null,
    peer: string,
    wants: RequestWants = {},
    hosts: WantedHosts | null = null,
  ): LicensingResult<CreatedLicenseRequest> {
    const { hardware, hardwareId } = this.#identity.hashHardware();
    const request = {
      request: randomId(),
      nonce: randomId(),
      product,
      licenseKey: licenseKey === null ? null : canonicalizeLicenseKey(licenseKey),
      hardwareId,
      hardware,
      ...(Object.keys(wants).length > 0 && { wants }),
    };
    const created = await this.#store.transact(
      ({ auditSeq, auditSum, ...end }) => ({
        type: "LicenseGenerate" as const,
        request,
        ...(hosts !== null && { hosts }),
        hostHeads: this.#readHostHeads(end),
        head: { auditSeq, auditSum },
        peer,
      }),
      (state) => this.#describeRequest(state, request.request),
    );
    return created.ok ? ok(await this.#signRequest(created.value)) : created;
  }

  /** The requests that a vendor may still answer, oldest first. */
  listRequests(): OperationResult<OpenRequest[]> {
    return this.#store.read((state, { at }) => findOpenRequests(state, at));
  }

  /** Signs an open request once more; the document is the same as when it was created. */
  async showRequest(request: string): LicensingResult<CreatedLicenseRequest> {
    const found = flattenResult(
      await this.#store.read((state, { at }): Result<DescribedRequest, Fault> => {
        const open = findRequestToShow(state, request, at);
        return open.ok ? ok(this.#describeRequest(state, request)) : open;
      }),
    );
    return found.ok ? ok(await this.#signRequest(found.value)) : found;
  }

  /** Cancels a request, or an activation by its nonce: an answer to it is refused. */
  cancelRequest(request: string, peer: string): LicensingResult<string> {
    const command = { type: "CancelRequest", request, peer } as const;
    return this.#store.transact(command, (_state, cancelled) => cancelled.request);
  }

  #describeRequest(state: State, request: string): DescribedRequest {
    const content = buildLicenseRequest(this.#identity, state, request);
    return { content, warnings: findRequestWarnings(state, content.product) };
  }

  async #signRequest({ content, warnings }: DescribedRequest): Promise<CreatedLicenseRequest> {
    const at = instant(Date.parse(content.created_at));
    return {
      request: content.request_id,
      at,
      hardwareId: content.hardware_id,
      hosts: content.pair?.hosts.map(({ name }) => name) ?? [],
      product: content.product,
      licenseKey: content.license_key,
      document: await signLicenseRequest(content, this.#identity.key),
      cloud: await this.#buildCloudRequest(content, at),
      warnings,
    };
  }

  /** Installs a vendor's license: verifies the signature, then applies the rules. */
  async installLicense(document: string, peer: string): LicensingResult<InstalledLicenseView> {
    const text = document.trim();
    const snapshot = await this.#store.read((state) => [...state.vendors.values()]);
    if (!snapshot.ok) return snapshot;
    const verified = await verifyLicense(text, snapshot.value);
    if (!verified.ok) {
      return verified.fault.wrong === "signer"
        ? err({ code: "untrusted_vendor" })
        : err({ code: "invalid_license_file", problem: verified.fault });
    }
    const { license, terms } = verified.value;
    const signer = signingKeyOf(verified.value.signer);
    const refused = await this.#store.read((state, { at }) => {
      // Installing the same file again changes nothing, so its key may be retired or have ended.
      const installed = state.licenses.get(license.license_id);
      return installed?.grant.document === text ? null : findKeyFault(state, signer, at);
    });
    if (!refused.ok) return refused;
    if (refused.value !== null) return err(refused.value);
    if (license.appliance !== this.#identity.id) {
      const appliances = { signed: license.appliance, here: this.#identity.id };
      return err({ code: "hardware_mismatch", appliances });
    }
    if (license.cnf.jwk.x !== this.#identity.key.x) return err({ code: "hardware_mismatch" });
    const { request_id: request, nonce } = license;
    return this.#store.transact(
      {
        type: "LicenseUpload",
        license: license.license_id,
        terms,
        grant: {
          vendor: signer.vendor,
          key: signer.key,
          keyUntil: signer.until,
          serial: license.serial,
          document: text,
          lic: sha256(text),
          policyId: null,
          hardwareId: license.hardware_id,
          ...(license.hosts !== undefined && { hostIds: license.hosts }),
        },
        signer,
        answers: request === null || nonce === null ? null : { request, nonce },
        peer,
      },
      viewInstalledLicense,
    );
  }

  /** Returns a license to its vendor. A repeated call returns the same receipt, byte for byte. */
  async removeLicense(
    license: number,
    withBorrows: boolean,
    peer: string,
  ): LicensingResult<string> {
    const removed = await this.#store.transact(
      { type: "LicenseRemove", license, withBorrows, peer },
      (_state, tombstone): Tombstone => tombstone,
    );
    if (!removed.ok) return removed;
    const { serial, vendor, product, at, total, borrows } = removed.value;
    const receipt = {
      appliance: this.#identity.id,
      jwk: publicPart(this.#identity.key),
      license_id: license,
      serial,
      vendor,
      product,
      removed_at: rfc3339(at),
      total_consumptions: total,
      borrows: [...borrows],
    };
    return ok(await signReceipt(receipt, this.#identity.key));
  }

  async #buildCloudRequest(request: LicenseRequest, date: Instant): Promise<string | null> {
    const keys = await this.#credentials.readPair();
    const { license_key: licenseKey, request_id: requestId, hardware_id: hardwareId } = request;
    if (keys === null || licenseKey === null) return null;
    const product = request.product ?? "";
    return buildCloudRequest({ requestId, licenseKey, hardwareId, product, date, ...keys });
  }
}
