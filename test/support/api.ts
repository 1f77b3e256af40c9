// The HTTP side over the real operations and a real folder, called as a server would call it. One
// typed method per call of the contract, each giving the response and what it says.
import { expect, onTestFinished } from "bun:test";
import { join } from "node:path";
import type { Static } from "@sinclair/typebox";
import type { Terms } from "../../src/domain/terms.ts";
import type { Instant } from "../../src/domain/time.ts";
import { createApp, type Services } from "../../src/http/app.ts";
import type { Gate } from "../../src/http/gate.ts";
import type { FeatureObject, LicenseObject } from "../../src/http/license-object.ts";
import type { RegistrationReply } from "../../src/http/routes/admin.ts";
import type { StatusReply } from "../../src/http/status.ts";
import type {
  ConsumptionReply,
  FeatureConsumptionReply,
} from "../../src/http/routes/consumption-fields.ts";
import { StatusStreams } from "../../src/http/status-streams.ts";
import type { SlotReply } from "../../src/http/routes/slot-reply.ts";
import type { RunningServer } from "../../src/http/running-server.ts";
import type { HardwareComponent } from "../../src/license/hardware.ts";
import { signLease } from "../../src/license/lease.ts";
import { AccessControl } from "../../src/operations/access-control.ts";
import { Airgap } from "../../src/operations/airgap.ts";
import { AuditBudget } from "../../src/operations/audit-budget.ts";
import { AuditMaintenance } from "../../src/operations/audit-maintenance.ts";
import { CloudCredentials } from "../../src/operations/cloud-credentials.ts";
import { Identity } from "../../src/operations/identity.ts";
import { Licensing } from "../../src/operations/licensing.ts";
import { Operations } from "../../src/operations/operations.ts";
import { AuditLogReader } from "../../src/operations/audit-log-reader.ts";
import { Timekeeping } from "../../src/operations/timekeeping.ts";
import { ApplianceClock } from "../../src/platform/clock.ts";
import { realDisk, type Disk } from "../../src/platform/disk.ts";
import { createSiteNetworkMatcher } from "../../src/platform/networks.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { AccessFile } from "../../src/store/access-file.ts";
import { SealedFile } from "../../src/store/sealed-file.ts";
import { Store } from "../../src/store/store.ts";
import { granted } from "./licensed-store.ts";
import { counting, feature, MONDAY } from "./scenario.ts";
import { tempFolder } from "./temp-folder.ts";
import { answer, PRODUCTS, trustDocument } from "./vendor.ts";
import { textOf } from "./watching.ts";

export type Answer<T> = readonly [response: Response, body: T];
export type Fields = Readonly<Record<string, unknown>>;
export type Sent = Readonly<Record<string, string>>;
export type Slot = Static<typeof SlotReply>;
export type Borrowed = Slot & { readonly max_borrow_time: number | null };
export type License = Static<typeof LicenseObject>;
export type Feature = Static<typeof FeatureObject>;
export type Counted = Static<typeof ConsumptionReply>;
export type FeatureCounted = Static<typeof FeatureConsumptionReply>;

export interface Raw {
  readonly headers?: Sent;
  readonly body?: RequestInit["body"];
}

/** Two slots for half an hour, lent for a day; ten uses and two over; a feature of each kind. */
const CAD: Partial<Terms> = {
  consumption: counting({ max: 10, overages: 2 }),
  features: [
    feature("view", { floating: { slots: 1, timeoutMinutes: 10 } }),
    feature("plot", { consumption: counting({ max: 5 }) }),
    feature("skin"),
  ],
};

export interface ApplianceOptions {
  /** By license id. One license, `CAD`, unless told otherwise. */
  readonly licenses?: Readonly<Record<number, Partial<Terms>>>;
  readonly gate?: Partial<Gate>;
  readonly disk?: Disk;
  readonly folder?: string;
  /** What a running server has besides; nothing unless told otherwise. */
  readonly served?: (folder: string) => RunningServer;
  /** What the machine is made of. */
  readonly components?: readonly HardwareComponent[];
  /** MiB an hour that one address may add to the audit log; no limit unless told otherwise. */
  readonly auditBudget?: number;
}

const MACHINE: readonly HardwareComponent[] = [
  { kind: "machine_id", value: "0123456789abcdef0123456789abcdef" },
  { kind: "mac", value: "52:54:00:12:34:56" },
];

export async function openAppliance(options: ApplianceOptions = {}): Promise<Appliance> {
  const { licenses = { 1: CAD }, gate = {}, disk = realDisk } = options;
  const folder = options.folder ?? join(tempFolder(), "data");
  const clock = { now: MONDAY };
  const identity = new Identity(realDisk, folder, options.components ?? MACHINE);
  const store = await Store.open({
    identify: () => identity.create(),
    isBound: (license) => identity.matchHardware(license).isMatch,
    disk,
    folder,
    kind: "site",
    create: true,
    clock: () => clock.now,
    checkpoint: (of, open) => checkpoint(realDisk, of, open),
    onFatal: () => {},
  });
  identity.open(store.peek(({ appliance }) => appliance));
  const operations = new Operations(
    store,
    (lease) => signLease(lease, identity.key),
    new AuditBudget(options.auditBudget ?? 0),
  );
  const credentials = new CloudCredentials(store, new SealedFile(realDisk, folder));
  const licensing = new Licensing(store, identity, credentials);
  const airgap = new Airgap(store, identity);
  const timekeeping = new Timekeeping(store, new ApplianceClock(), identity);
  const access = new AccessControl(store, new AccessFile(realDisk, folder), () => clock.now);
  const services = {
    operations,
    licensing,
    airgap,
    credentials,
    identity,
    timekeeping,
    access,
    streams: new StatusStreams(),
    auditLog: new AuditLogReader(store),
    auditMaintenance: new AuditMaintenance(store),
    exposures: () => [],
    certificate: () => null,
    runningServer: options.served?.(folder) ?? null,
  };
  const appliance = new Appliance(services, clock, folder, gate);
  onTestFinished(() => appliance.stop());
  const licensed = Object.entries(licenses);
  const products = licensed.flatMap(([, { product }]) => product ?? []);
  const trusted = { products: [...new Set([...PRODUCTS, ...products])] };
  if (granted(await licensing.vendors()).length === 0) {
    granted(await licensing.trustVendor(await trustDocument(trusted), "test"));
  }
  for (const [id, differing] of licensed) {
    const document = await answer(await appliance.asked(), Number(id), differing);
    granted(await licensing.installLicense(document, "test"));
  }
  return appliance;
}

export class Appliance {
  readonly services: Services;
  readonly operations: Operations;
  readonly licensing: Licensing;
  readonly clock: { now: Instant };
  readonly folder: string;
  readonly app: ReturnType<typeof createApp>;
  /** Where the next request comes from; null when that cannot be told. */
  peer: string | null = "127.0.0.1";
  #stopping: Promise<void> | null = null;

  constructor(
    services: Services,
    clock: { now: Instant },
    folder: string,
    gate: Partial<Gate> = {},
  ) {
    this.services = services;
    this.operations = services.operations;
    this.licensing = services.licensing;
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
      access: services.access,
      ...gate,
    });
  }

  register = (fields: Fields, headers?: Sent) => this.post<Slot>("register", fields, headers);
  borrow = (fields: Fields, headers?: Sent) => this.post<Borrowed>("borrow", fields, headers);
  unregister = (fields: Fields) => this.post<string>("unregister", fields);
  addConsumption = (fields: Fields, headers?: Sent) =>
    this.post<Counted>("add_consumption", fields, headers);
  addFeatureConsumption = (fields: Fields, headers?: Sent) =>
    this.post<FeatureCounted>("add_feature_consumption", fields, headers);
  featureRegister = (fields: Fields) => this.post<Feature>("featureRegister", fields);
  featureRelease = (fields: Fields) => this.post<string>("featureRelease", fields);
  license = (query = "") => this.get<License>(`/api/v4/license${query}`);
  upload = (document: string) => this.post<License>("license/upload", { license: document });
  status = () => this.get<StatusReply>("/api/admin/v1/status");
  licenses = () => this.get<License[]>("/api/admin/v1/licenses");
  registrations = (query = "") =>
    this.get<RegistrationReply[]>(`/api/admin/v1/registrations${query}`);

  get<T = unknown>(path: string, headers: Sent = {}): Promise<Answer<T>> {
    return this.send<T>("GET", path, { headers });
  }

  post<T = unknown>(operation: string, fields: Fields, headers: Sent = {}): Promise<Answer<T>> {
    const path = operation.startsWith("/") ? operation : `/api/v4/${operation}`;
    return this.send<T>("POST", path, {
      body: JSON.stringify(fields),
      headers: { "content-type": "application/json", accept: "application/json", ...headers },
    });
  }

  /** As it would be on the wire; only a Host of our own is put there when none is given. */
  async send<T = unknown>(method: string, path: string, raw: Raw = {}): Promise<Answer<T>> {
    const request = new Request(`http://appliance${path}`, {
      method,
      headers: { host: "127.0.0.1:8080", ...raw.headers },
      ...(raw.body !== undefined && { body: raw.body }),
    });
    const response = await this.app.handle(request);
    const text = await textOf(response);
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    return [response, (isJson && text !== "" ? JSON.parse(text) : text) as T];
  }

  /** A request that went out, for a vendor to answer. */
  async asked(product: string | null = null): Promise<string> {
    return granted(await this.licensing.request(product, null, "test")).document;
  }

  /** Who holds a slot, asked behind the gate's back. */
  async holders(): Promise<string[]> {
    return granted(await this.operations.listRegistrations(null)).map(({ user }) => user);
  }

  /** How often anything was written: a refusal leaves it as it is. */
  written(): number {
    return this.operations.health().seq;
  }

  stop(): Promise<void> {
    this.services.timekeeping.stop();
    return (this.#stopping ??= this.operations.close());
  }
}

/** The reply, once it is certain that there is one; else the refusal is in the failure's message. */
export function expectOk<T>([response, body]: Answer<T>): T {
  expect([response.status, body]).toEqual([200, body]);
  return body;
}

export interface Refused {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** Three fields and no more, the same status twice; gives the message. */
export function expectRefusal([response, body]: Answer<unknown>, status: number, code: string) {
  const { message } = body as Refused;
  expect(body).toEqual({ status, code, message });
  expect(message).toBeString();
  expect(message).not.toBe("");
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  return message;
}

/** Refused, and nothing was written for it. */
export async function expectUnchanged(
  appliance: Appliance,
  status: number,
  code: string,
  act: () => Promise<Answer<unknown>>,
): Promise<string> {
  const before = appliance.written();
  const message = expectRefusal(await act(), status, code);
  expect(appliance.written()).toBe(before);
  return message;
}
