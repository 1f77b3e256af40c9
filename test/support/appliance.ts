// The HTTP application with the real operations on a real folder, called without a network. It has
// a typed method for each API call, which returns the response and its body.
import { afterAll, beforeAll, expect, onTestFinished } from "bun:test";
import { join } from "node:path";
import type { Static } from "@sinclair/typebox";
import type { SlotCaps } from "../../src/domain/model/rule-context.ts";
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import type { Instant } from "../../src/domain/time.ts";
import { createApp } from "../../src/http/app.ts";
import type { Services } from "../../src/http/services.ts";
import type { Gate } from "../../src/http/access/gate.ts";
import type { AccessPolicy } from "../../src/http/server.ts";
import { WaitingCount } from "../../src/http/access/waiting-count.ts";
import type {
  FeatureObject,
  LicenseObject,
} from "../../src/http/routes/licenses/license-object.ts";
import type { RegistrationReply } from "../../src/http/routes/slots/registrations.ts";
import type { StatusReply } from "../../src/http/routes/health/status-schema.ts";
import type {
  ConsumptionReply,
  FeatureConsumptionReply,
} from "../../src/http/routes/consumption/consumption-fields.ts";
import { RequestDurations } from "../../src/http/metrics/request-durations.ts";
import { StatusStreams } from "../../src/http/routes/page/status-streams.ts";
import type { SlotReply } from "../../src/http/routes/slots/slot-reply.ts";
import type { RunningServer } from "../../src/http/running-server.ts";
import type { HardwareComponent } from "../../src/license/documents/hardware.ts";
import type { FullCheck } from "../../src/operations/health/assess-health.ts";
import type { ServerAccess } from "../../src/operations/health/exposures.ts";
import type { ApplianceStatus } from "../../src/operations/health/appliance-status.ts";
import type { Licensing } from "../../src/operations/licenses/licensing.ts";
import type { VendorTrust } from "../../src/operations/trust/vendor-trust.ts";
import { wire, type ApplianceOperations } from "../../src/operations/wire.ts";
import { realDisk, type Disk } from "../../src/platform/files/disk.ts";
import { createSiteNetworkMatcher } from "../../src/platform/network/networks.ts";
import { checkpointWithUsage } from "../../src/operations/usage/checkpoint-with-usage.ts";
import { unwrap } from "./licensed-store.ts";
import { createSteppingClock, ManualClock } from "./manual-clock.ts";
import { consumptionTerms, featureTerms, MONDAY } from "./scenario.ts";
import { tempFolder, type AtEnd } from "./temp-folder.ts";
import { answerRequest, VENDOR_PRODUCTS, makeTrustDocument } from "./vendor.ts";
import { readText } from "./status-stream.ts";

export type ApiResponse<T> = readonly [response: Response, body: T];
export type RequestFields = Readonly<Record<string, unknown>>;
export type RequestHeaders = Readonly<Record<string, string>>;
export type Slot = Static<typeof SlotReply>;
export type BorrowedSlot = Slot & { readonly max_borrow_time: number | null };
export type License = Static<typeof LicenseObject>;
export type Feature = Static<typeof FeatureObject>;
export type ConsumptionResult = Static<typeof ConsumptionReply>;
export type FeatureConsumptionResult = Static<typeof FeatureConsumptionReply>;

export interface RawRequest {
  readonly headers?: RequestHeaders;
  readonly body?: RequestInit["body"];
}

/** Two slots, 30 minutes, borrowing for a day; 10 consumptions and 2 overages; 3 features. */
const CAD: Partial<Terms> = {
  consumption: consumptionTerms({ max: 10, overages: 2 }),
  features: [
    featureTerms("view", { floating: { slots: 1, timeoutMinutes: 10 } }),
    featureTerms("plot", { consumption: consumptionTerms({ max: 5 }) }),
    featureTerms("skin"),
  ],
};

export interface ApplianceOptions {
  /** Terms by license id; default: one license, `CAD`. */
  readonly licenses?: Readonly<Record<number, Partial<Terms>>>;
  readonly gate?: Partial<Gate>;
  readonly disk?: Disk;
  readonly folder?: string;
  /** The name of the site; default: Plant 4. */
  readonly siteName?: () => string;
  /** How the program is called in a terminal; default: berth. */
  readonly executable?: string;
  /** The maintenance of a running server; default: none. */
  readonly maintenance?: (folder: string, operations: ApplianceOperations) => RunningServer;
  /** How the server can be reached; default: no listener is open. */
  readonly serverAccess?: ServerAccess;
  /** The last run of all checks; default: none. */
  readonly fullCheck?: FullCheck;
  /** The hardware components of the machine. */
  readonly components?: readonly HardwareComponent[];
  /** The clock by which places in a queue lapse; default: that of the process. */
  readonly contactClock?: () => number;
  /** MiB per hour that one address may add to the audit log; default: no limit. */
  readonly auditBudget?: number;
  /** Default: no limit. */
  readonly slotCaps?: SlotCaps;
}

const MACHINE: readonly HardwareComponent[] = [
  { kind: "machine_id", value: "0123456789abcdef0123456789abcdef" },
  { kind: "mac", value: "52:54:00:12:34:56" },
];

/**
 * Opens one appliance for all tests of the file or the `describe` block that calls this. They must
 * leave it as it was: most of them are refusals.
 */
export function openSharedAppliance(options: ApplianceOptions = {}): () => Appliance {
  const cleanups: Parameters<AtEnd>[0][] = [];
  let site: Appliance | null = null;
  beforeAll(async () => {
    site = await openAppliance(options, (cleanup) => cleanups.push(cleanup));
  });
  afterAll(async () => {
    for (const cleanup of cleanups) await cleanup();
  });
  return () => site ?? expect.unreachable("the shared appliance is opened before the first test");
}

export async function openAppliance(
  options: ApplianceOptions = {},
  atEnd: AtEnd = onTestFinished,
): Promise<Appliance> {
  const { licenses = { 1: CAD }, gate = {}, disk = realDisk } = options;
  // Registered before the folder is, so that it stops before its folder is removed.
  const opened: { appliance?: Appliance } = {};
  atEnd(() => opened.appliance?.stop());
  const folder = options.folder ?? join(tempFolder(atEnd), "data");
  const clock = { now: MONDAY };
  const { operations } = await wire({
    disk,
    folder,
    kind: "site",
    create: true,
    holder: "server",
    clock: new ManualClock(() => clock.now),
    monotonicMs: createSteppingClock(),
    hardware: options.components ?? MACHINE,
    ...(options.contactClock && { contactClock: options.contactClock }),
    auditBudget: () => options.auditBudget ?? 0,
    caps: () => options.slotCaps ?? { perUser: null, perPeer: null },
    checkpoint: (dataFolder, open) => checkpointWithUsage(realDisk, dataFolder, open),
    onFatal: () => {},
  });
  const services: Services = {
    ...operations,
    streams: new StatusStreams(),
    requestDurations: new RequestDurations(),
    commandLine: { executable: options.executable ?? "berth", needsSudo: true, dataFolder: folder },
    serverAccess: () => options.serverAccess ?? null,
    fullCheck: () => options.fullCheck ?? null,
    certificate: () => null,
    siteSettings: () => ({ siteName: options.siteName?.() ?? "Plant 4", expiryWarningDays: 30 }),
    runningServer: options.maintenance?.(folder, operations) ?? null,
  };
  const { licensing, vendorTrust } = operations;
  const appliance = (opened.appliance = new Appliance(services, clock, folder, gate));
  const licenseEntries = Object.entries(licenses);
  const products = licenseEntries.flatMap(([, { product }]) => product ?? []);
  const vendorChanges = { products: [...new Set([...VENDOR_PRODUCTS, ...products])] };
  if (unwrap(await vendorTrust.listVendors()).length === 0) {
    unwrap(await vendorTrust.trustVendor(await makeTrustDocument(vendorChanges), "test"));
  }
  for (const [id, differing] of licenseEntries) {
    const document = await answerRequest(
      await appliance.makeRequestDocument(),
      Number(id),
      differing,
    );
    unwrap(await licensing.installLicense(document, "test"));
  }
  return appliance;
}

/** Every address is admitted without a login; for administration only this machine. */
export const OPEN_POLICY: AccessPolicy = {
  isClient: () => true,
  isAdmin: () => true,
  clientAuth: "open",
  adminOpen: false,
  allowPlain: false,
  serverNames: [],
  logMode: "default",
};

export class Appliance {
  readonly services: Services;
  readonly applianceStatus: ApplianceStatus;
  readonly licensing: Licensing;
  readonly vendorTrust: VendorTrust;
  readonly clock: { now: Instant };
  readonly folder: string;
  readonly app: ReturnType<typeof createApp>;
  /** The address that the next request comes from; null: unknown. */
  peer: string | null = "127.0.0.1";
  #stopping: Promise<void> | null = null;

  constructor(
    services: Services,
    clock: { now: Instant },
    folder: string,
    gate: Partial<Gate> = {},
  ) {
    this.services = services;
    this.applianceStatus = services.applianceStatus;
    this.licensing = services.licensing;
    this.vendorTrust = services.vendorTrust;
    this.clock = clock;
    this.folder = folder;
    this.app = createApp(services, {
      peerOf: () => this.peer,
      isTrusted: false,
      isTls: false,
      isClient: createSiteNetworkMatcher(),
      isAdmin: gate.isClient ?? createSiteNetworkMatcher(),
      clientAuth: "open",
      adminOpen: false,
      allowPlain: false,
      serverNames: ["appliance"],
      keepOpen: () => () => {},
      waitingCount: new WaitingCount(),
      access: services.access,
      ...gate,
    });
  }

  register = (fields: RequestFields, headers?: RequestHeaders) =>
    this.post<Slot>("register", fields, headers);
  borrow = (fields: RequestFields, headers?: RequestHeaders) =>
    this.post<BorrowedSlot>("borrow", fields, headers);
  unregister = (fields: RequestFields) => this.post<string>("unregister", fields);
  addConsumption = (fields: RequestFields, headers?: RequestHeaders) =>
    this.post<ConsumptionResult>("add_consumption", fields, headers);
  addFeatureConsumption = (fields: RequestFields, headers?: RequestHeaders) =>
    this.post<FeatureConsumptionResult>("add_feature_consumption", fields, headers);
  featureRegister = (fields: RequestFields) => this.post<Feature>("featureRegister", fields);
  featureRelease = (fields: RequestFields) => this.post<string>("featureRelease", fields);
  license = (query = "") => this.get<License>(`/api/v4/license${query}`);
  upload = (document: string) => this.post<License>("license/upload", { license: document });
  status = () => this.get<StatusReply>("/api/admin/v1/status");
  licenses = () => this.get<License[]>("/api/admin/v1/licenses");
  registrations = (query = "") =>
    this.get<RegistrationReply[]>(`/api/admin/v1/registrations${query}`);

  get<T = unknown>(path: string, headers: RequestHeaders = {}): Promise<ApiResponse<T>> {
    return this.send<T>("GET", path, { headers });
  }

  post<T = unknown>(
    operation: string,
    fields: RequestFields,
    headers: RequestHeaders = {},
  ): Promise<ApiResponse<T>> {
    const path = operation.startsWith("/") ? operation : `/api/v4/${operation}`;
    return this.#sendJson<T>("POST", path, fields, headers);
  }

  put<T = unknown>(
    path: string,
    fields: RequestFields,
    headers: RequestHeaders = {},
  ): Promise<ApiResponse<T>> {
    return this.#sendJson<T>("PUT", path, fields, headers);
  }

  #sendJson<T>(
    method: string,
    path: string,
    fields: RequestFields,
    headers: RequestHeaders,
  ): Promise<ApiResponse<T>> {
    return this.send<T>(method, path, {
      body: JSON.stringify(fields),
      headers: { "content-type": "application/json", accept: "application/json", ...headers },
    });
  }

  /** Sends a request unchanged, except for a default Host header. */
  async send<T = unknown>(
    method: string,
    path: string,
    raw: RawRequest = {},
  ): Promise<ApiResponse<T>> {
    const request = new Request(`http://appliance${path}`, {
      method,
      headers: { host: "127.0.0.1:8080", ...raw.headers },
      ...(raw.body !== undefined && { body: raw.body }),
    });
    const response = await this.app.handle(request);
    const text = await readText(response);
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    return [response, (isJson && text !== "" ? JSON.parse(text) : text) as T];
  }

  /** Creates a license request for a vendor to answer. */
  async makeRequestDocument(product: string | null = null): Promise<string> {
    return unwrap(await this.licensing.request(product, null, "test")).document;
  }

  /** The users that hold a slot, read without access control. */
  async listHolders(): Promise<string[]> {
    return unwrap(await this.services.slots.listRegistrations(null)).map(({ user }) => user);
  }

  /** The number of journal lines: a refusal does not change it. */
  lastSeq(): number {
    return this.applianceStatus.storageStatus().seq;
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.services.close());
  }
}

/** Expects status 200 and returns the body; a failure shows the refusal. */
export function expectOk<T>([response, body]: ApiResponse<T>): T {
  expect([response.status, body]).toEqual([200, body]);
  return body;
}

export interface RefusalBody {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly field?: string;
}

/** Expects a refusal without unknown fields and returns its message. */
export function expectRefusal(
  [response, body]: ApiResponse<unknown>,
  status: number,
  code: string,
) {
  const { message, field } = body as RefusalBody;
  expect(body).toEqual({ status, code, message, ...(field !== undefined && { field }) });
  expect(message).toBeString();
  expect(message).not.toBe("");
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  return message;
}

/** Expects a refusal that writes nothing and returns its message. */
export async function expectRefusedUnchanged(
  appliance: Appliance,
  status: number,
  code: string,
  send: () => Promise<ApiResponse<unknown>>,
): Promise<string> {
  const before = appliance.lastSeq();
  const message = expectRefusal(await send(), status, code);
  expect(appliance.lastSeq()).toBe(before);
  return message;
}
