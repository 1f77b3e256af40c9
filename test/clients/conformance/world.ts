// What a scenario works with: a product of its own on the server, proxies in front of it, and
// drivers of one client. Everything ends with the scenario. A test of a concurrent group cannot
// register its own cleanup, so `runScenario` does it.
import type { Terms } from "../../../src/domain/model/licenses/terms.ts";
import { prepareDriver, type ClientName } from "./clients.ts";
import { Driver } from "./driver.ts";
import { FaultyProxy } from "./faulty-proxy.ts";
import type {
  AcquireOptions,
  BorrowOptions,
  BorrowReply,
  ClientOptions,
  ConsumeOptions,
  ConsumptionReply,
  ErrorReply,
  SlotReply,
} from "./protocol.ts";
import { ProductOnServer } from "./site.ts";
import { waitUntil } from "../../support/wait-until.ts";

export interface Scenario {
  readonly title: string;
  /** How the scenario's license differs from the usual one. */
  readonly terms?: Partial<Terms>;
  /** The product at a server that the scenario starts itself; absent: one of its own. */
  readonly product?: string;
  /** Clients for which the scenario makes sense; absent: all. */
  readonly clients?: readonly ClientName[];
  readonly run: (world: World) => Promise<void>;
}

/** Without pauses, a test of a call that fails takes only as long as one round. */
const ONE_ROUND = { retry_for: 0.001 };

export class World {
  readonly client: ClientName | "run";
  readonly server: ProductOnServer;
  /** By this factor the time-outs of slots are longer than a scenario says. */
  readonly timeScale: number;
  readonly #cleanups: (() => unknown)[] = [];

  constructor(client: ClientName | "run", server: ProductOnServer, timeScale = 1) {
    this.client = client;
    this.server = server;
    this.timeScale = timeScale;
  }

  get product(): string {
    return this.server.product;
  }

  /** A proxy in front of the server. */
  async openProxy(target = this.server.url): Promise<FaultyProxy> {
    const proxy = await FaultyProxy.open(target, this.timeScale);
    this.atEnd(() => proxy.close());
    return proxy;
  }

  /** A driver of the client, as a new process. */
  startDriver(env: Readonly<Record<string, string>> = {}): Driver {
    if (this.client === "run") throw new Error("berth run has no driver");
    const driver = new Driver(prepareDriver(this.client), env);
    this.atEnd(() => driver.kill());
    return driver;
  }

  /** A client of the scenario's product, in a driver of its own unless one is given. */
  async connect(
    urls: string | readonly string[],
    options: ClientOptions = {},
    driver = this.startDriver(),
  ): Promise<TestClient> {
    const client = new TestClient(driver, `client-${(lastName += 1)}`);
    const { product } = this;
    await driver.request("client", {
      client: client.name,
      urls: [urls].flat(),
      product,
      ...options,
    });
    return client;
  }

  /** A client that tries each server once, for calls that must fail. */
  connectForOneRound(
    urls: string | readonly string[],
    options: ClientOptions = {},
    driver = this.startDriver(),
  ) {
    return this.connect(urls, { ...ONE_ROUND, ...options }, driver);
  }

  atEnd(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup);
  }

  async end(): Promise<void> {
    for (const cleanup of this.#cleanups.toReversed()) await cleanup();
  }
}

let lastName = 0;

const HOUR = 3_600_000;

/** A time after so many hours, in whole seconds. */
export const hoursFromNow = (hours: number): string =>
  `${new Date(Date.now() + hours * HOUR).toISOString().slice(0, 19)}Z`;

/** A client in a driver, and a slot in it, with the operations of the public interface. */
export class TestClient {
  readonly driver: Driver;
  readonly name: string;
  /** A call that is repeated with its key must have the same end. */
  readonly #usualBorrow: { readonly client: string; readonly until: string };

  constructor(driver: Driver, name: string) {
    this.driver = driver;
    this.name = name;
    this.#usualBorrow = { client: name, until: hoursFromNow(1) };
  }

  async acquire(user: string, options: AcquireOptions = {}): Promise<TestSlot> {
    const slot = new TestSlot(this.driver, `slot-${(lastName += 1)}`);
    const fields = { client: this.name, slot: slot.name, user, ...options };
    slot.acquired = await this.driver.request("acquire", fields);
    return slot;
  }

  acquireError(user: string, options: AcquireOptions = {}): Promise<ErrorReply> {
    const slot = `slot-${(lastName += 1)}`;
    return this.driver.requestError("acquire", { client: this.name, slot, user, ...options });
  }

  /** An acquire that waits; its slot has the given name from the start. */
  startAcquire(slot: string, user: string, options: AcquireOptions): Promise<SlotReply> {
    const started = this.driver.request("acquire", { client: this.name, slot, user, ...options });
    // The test awaits it later.
    started.catch(() => {});
    return started;
  }

  consume(options: ConsumeOptions = {}): Promise<ConsumptionReply> {
    return this.driver.request("consume", { client: this.name, ...options });
  }

  consumeError(options: ConsumeOptions = {}): Promise<ErrorReply> {
    return this.driver.requestError("consume", { client: this.name, ...options });
  }

  /** Until in an hour, unless the options say otherwise. */
  borrow(user: string, options: BorrowOptions = {}): Promise<BorrowReply> {
    return this.driver.request("borrow", { ...this.#usualBorrow, user, ...options });
  }

  borrowError(user: string, options: BorrowOptions = {}): Promise<ErrorReply> {
    return this.driver.requestError("borrow", { ...this.#usualBorrow, user, ...options });
  }

  async releaseUser(user: string): Promise<void> {
    await this.driver.request("release_user", { client: this.name, user });
  }

  async nonce(): Promise<string> {
    return (await this.driver.request("nonce", { client: this.name })).nonce;
  }

  async close(): Promise<void> {
    await this.driver.request("close", { client: this.name });
  }

  /** After a loss there are no more requests: a test would wait for them in vain. */
  async waitForRequestsOrLoss(proxy: FaultyProxy, operation: string, count: number) {
    await waitUntil(
      () => proxy.count(operation) >= count || this.driver.events.length > 0,
      `${count} requests of ${operation}`,
    );
  }
}

export class TestSlot {
  readonly driver: Driver;
  readonly name: string;
  acquired: SlotReply | null = null;

  constructor(driver: Driver, name: string) {
    this.driver = driver;
    this.name = name;
  }

  read(): Promise<SlotReply> {
    return this.driver.request("slot", { slot: this.name });
  }

  async isHeld(): Promise<boolean> {
    return (await this.read()).is_held;
  }

  /** Whether the server confirmed the release. */
  async release(): Promise<boolean> {
    return (await this.driver.request("release", { slot: this.name })).confirmed;
  }

  async acquireFeature(code: string): Promise<TestFeature> {
    const feature = new TestFeature(this.driver, `feature-${(lastName += 1)}`);
    await this.driver.request("acquire_feature", { slot: this.name, feature: feature.name, code });
    return feature;
  }

  acquireFeatureError(code: string): Promise<ErrorReply> {
    const feature = `feature-${(lastName += 1)}`;
    return this.driver.requestError("acquire_feature", { slot: this.name, feature, code });
  }
}

export class TestFeature {
  readonly driver: Driver;
  readonly name: string;

  constructor(driver: Driver, name: string) {
    this.driver = driver;
    this.name = name;
  }

  async isHeld(): Promise<boolean> {
    return (await this.driver.request("feature", { feature: this.name })).is_held;
  }

  async release(): Promise<boolean> {
    return (await this.driver.request("release", { feature: this.name })).confirmed;
  }
}

/** Runs a scenario for one client, and ends what it started. */
export async function runScenario(
  scenario: Scenario,
  client: ClientName | "run",
  server: ProductOnServer,
  timeScale: number,
): Promise<void> {
  const world = new World(client, server, timeScale);
  try {
    await scenario.run(world);
  } finally {
    await world.end();
  }
}
