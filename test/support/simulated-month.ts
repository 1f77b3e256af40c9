// A data folder with a month of a site's life, through the real operations and a clock that runs a
// month in a few seconds. For tests of reports and of the page, and by hand:
//   bun test/support/simulated-month.ts FOLDER
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import { DAY, HOUR, instant, later, MINUTE, SECOND, type Instant } from "../../src/domain/time.ts";
import type { HardwareComponent } from "../../src/license/documents/hardware.ts";
import { wire, type ApplianceOperations } from "../../src/operations/wire.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { readMachineComponents } from "../../src/platform/system/machine.ts";
import { checkpoint } from "../../src/store/checkpoint/checkpoint.ts";
import { createSteppingClock, ManualClock } from "./manual-clock.ts";
import { consumptionTerms, featureTerms } from "./scenario.ts";
import { SeededRandom } from "./seeded-random.ts";
import { answerRequest, makeTrustDocument } from "./vendor.ts";
import { makeContact } from "./contact.ts";

export interface MonthOptions {
  readonly folder: string;
  /** The end of the month; default: now. */
  readonly end?: Instant;
  readonly days?: number;
  readonly seed?: number;
  /** Default: this machine, so that a server on it grants slots. */
  readonly hardware?: readonly HardwareComponent[];
}

/** Names that a page, a spreadsheet or a terminal must not run. */
export const HOSTILE_NAMES = ["<img src=x onerror=alert(1)>", '=HYPERLINK("http://evil")'];

/** They hold a slot all month without using it. */
export const IDLE_USERS = ["kiosk-lobby", "kiosk-lab"];

const PEOPLE = [
  ...Array.from({ length: 38 }, (_, index) => `engineer-${String(index + 1).padStart(2, "0")}`),
  ...HOSTILE_NAMES,
];

/** CAD: 10 slots, too few at midday. */
const CAD: Partial<Terms> = { product: "CAD", productName: "CAD", slots: 10, timeoutMinutes: 90 };
/** CAE: 50 slots, enough; but its mesher has only 5. */
const CAE: Partial<Terms> = {
  product: "CAE",
  productName: "CAE",
  slots: 50,
  timeoutMinutes: 90,
  borrowHours: 120,
  features: [featureTerms("MESH", { floating: { slots: 5, timeoutMinutes: 90 } })],
};
/** SIM: 4 slots, 6 from the middle of the month on; it counts runs. */
const SIM: Partial<Terms> = {
  product: "SIM",
  productName: "SIM",
  slots: 4,
  timeoutMinutes: 90,
  consumption: consumptionTerms({ max: 500, overages: 5_000, period: "monthly" }),
};

const STEP = 5 * MINUTE;

interface Wish {
  readonly user: string;
  readonly product: string;
  readonly feature: string | null;
  /** How long the slot is used, and until when the user retries. */
  readonly duration: number;
  readonly patience: Instant;
  readonly borrows: boolean;
}

interface Use extends Wish {
  readonly until: Instant;
  readonly renewAt: Instant;
}

export async function writeSimulatedMonth(options: MonthOptions): Promise<void> {
  const { folder, days = 30, seed = 1 } = options;
  const end = options.end ?? instant(Date.now());
  const start = instant(Math.floor((end - days * DAY) / STEP) * STEP);
  const clock = { now: start };
  const { operations } = await wire({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    holder: "server",
    clock: new ManualClock(() => clock.now),
    monotonicMs: createSteppingClock(),
    hardware: options.hardware ?? readMachineComponents(),
    checkpoint: (dataFolder, open) => checkpoint(realDisk, dataFolder, open),
    onFatal: (error) => {
      throw error;
    },
  });
  try {
    const vendor = await makeTrustDocument({ products: ["CAD", "CAE", "SIM"] });
    expectOk(await operations.vendorTrust.trustVendor(vendor, "test"));
    await installLicense(operations, 1, CAD);
    await installLicense(operations, 2, CAE);
    await installLicense(operations, 3, SIM);
    const month = new Month(operations, clock, new SeededRandom(seed));
    const middle = later(start, (days * DAY) / 2);
    for (let at = start; at < end; at = later(at, STEP)) {
      if (at <= middle && later(at, STEP) > middle) {
        clock.now = middle;
        await installLicense(operations, 3, { ...SIM, slots: 6 }, 2);
      }
      await month.runStep(at, end);
    }
    clock.now = end;
  } finally {
    await operations.close();
  }
}

async function installLicense(
  { licensing }: ApplianceOperations,
  id: number,
  terms: Partial<Terms>,
  serial = 1,
): Promise<void> {
  const request = expectOk(await licensing.request(terms.product ?? null, null, "test"));
  const document = await answerRequest(request.document, id, terms, { serial });
  expectOk(await licensing.installLicense(document, "test"));
}

/** The people of the site, who come, retry, work and go. */
class Month {
  readonly #operations: ApplianceOperations;
  readonly #clock: { now: Instant };
  readonly #random: SeededRandom;
  #wishes: Wish[] = [];
  #uses: Use[] = [];
  /** Calls of the current step: all of them share a few syncs. */
  #calls: Promise<void>[] = [];

  constructor(operations: ApplianceOperations, clock: { now: Instant }, random: SeededRandom) {
    this.#operations = operations;
    this.#clock = clock;
    this.#random = random;
  }

  async runStep(at: Instant, end: Instant): Promise<void> {
    this.#planStep(at, end);
    const offsets = Array.from(
      { length: this.#wishes.length + this.#uses.length },
      () => this.#random.intBelow(STEP / SECOND) * SECOND,
    ).toSorted((a, b) => a - b);
    const uses = this.#uses;
    const wishes = this.#wishes;
    this.#uses = [];
    this.#wishes = [];
    const tick = (): Instant => {
      const now = later(at, offsets.shift() ?? STEP - 1);
      this.#clock.now = now < end ? now : end;
      return this.#clock.now;
    };
    for (const use of uses) this.#continue(use, tick());
    for (const wish of wishes) this.#ask(wish, tick());
    await Promise.all(this.#calls);
    this.#calls = [];
  }

  /** New wishes by the time of the day: most come between 7 and 10, some in the afternoon. */
  #planStep(at: Instant, end: Instant): void {
    const random = this.#random;
    const hour = Math.floor((at % DAY) / HOUR);
    const weekday = (Math.floor(at / DAY) + 3) % 7;
    if (this.#uses.length === 0) for (const user of IDLE_USERS) this.#plan(user, "CAD", 1e12, at);
    if (weekday >= 5 || hour < 6 || hour > 17) return;
    const rate = hour < 10 ? 0.02 : 0.006;
    const busy = new Set([...this.#uses, ...this.#wishes].map(keyOf));
    for (const user of PEOPLE) {
      for (const product of ["CAD", "CAE", "SIM"]) {
        if (busy.has(keyOf({ user, product, feature: null })) || !random.chance(rate)) continue;
        if (product !== "CAE" && !random.chance(0.6)) continue;
        this.#plan(user, product, random.intBetween(20, 240) * MINUTE, at);
      }
    }
    for (const { user, until } of this.#uses.filter(({ product }) => product === "CAE")) {
      const mesh = { user, product: "CAE", feature: "MESH" };
      if (busy.has(keyOf(mesh)) || !random.chance(0.02)) continue;
      const duration = Math.min(random.intBetween(10, 90) * MINUTE, until - at - 2 * STEP);
      if (duration > STEP && later(at, duration) < end)
        this.#plan(user, "CAE", duration, at, "MESH");
    }
  }

  #plan(
    user: string,
    product: string,
    duration: number,
    at: Instant,
    feature: string | null = null,
  ): void {
    const random = this.#random;
    // Some give up at once, others retry for up to forty minutes.
    const patience = later(at, random.chance(0.3) ? 0 : random.intBetween(0, 8) * STEP);
    const borrows = product === "CAE" && feature === null && random.chance(0.05);
    this.#wishes.push({ user, product, feature, duration, patience, borrows });
  }

  /** Asks for the slot; who is refused retries with the next step, or gives up. */
  #ask(wish: Wish, at: Instant): void {
    const { user, product, feature, borrows } = wish;
    const { slots, features, consumption } = this.#operations;
    const target = { product, licenseId: null, user };
    const [contact, peer, identity] = [contactOf(user), peerOf(user), null];
    const answer =
      feature !== null
        ? features.register({ ...target, feature, peer, identity })
        : borrows
          ? slots.borrow({ ...target, contact, identity, nonce: null, until: later(at, 3 * DAY) })
          : slots.register({ ...target, contact, identity, nonce: null });
    this.#calls.push(
      (answer as Promise<{ readonly ok: boolean }>).then(({ ok }) => {
        const until = borrows ? later(at, 3 * DAY) : later(at, wish.duration);
        if (ok) this.#uses.push({ ...wish, until, renewAt: later(at, HOUR) });
        else if (at < wish.patience) this.#wishes.push(wish);
      }),
    );
    if (product !== "SIM") return;
    const count = this.#random.intBetween(1, 10);
    const fields = { allowOverages: null, maxOverages: null, peer };
    this.#calls.push(consumption.add({ ...target, count, ...fields }).then(() => {}));
  }

  /** Heartbeats once an hour; at the end most release, others forget to. */
  #continue(use: Use, at: Instant): void {
    const { user, product, feature, until, renewAt, borrows } = use;
    const { slots, features } = this.#operations;
    const target = { product, licenseId: null, user };
    const [contact, peer, identity] = [contactOf(user), peerOf(user), null];
    if (at >= until) {
      // A borrow ends by itself, and a program that crashes does not release its slot.
      if (borrows || this.#random.chance(0.15)) return;
      const release =
        feature === null
          ? slots.unregister({ ...target, peer, by: "user" })
          : features.release({ ...target, feature, peer });
      this.#calls.push((release as Promise<unknown>).then(() => {}));
      return;
    }
    if (borrows || at < renewAt) {
      this.#uses.push(use);
      return;
    }
    const renewal =
      feature === null
        ? slots.register({ ...target, contact, identity, nonce: null })
        : features.register({ ...target, feature, peer, identity });
    this.#calls.push((renewal as Promise<unknown>).then(() => {}));
    this.#uses.push({ ...use, renewAt: later(at, HOUR) });
  }
}

const keyOf = ({ user, product, feature }: Pick<Wish, "user" | "product" | "feature">): string =>
  JSON.stringify([user, product, feature]);

const numberOf = (user: string): number => (PEOPLE.indexOf(user) + 200) % 200;

const peerOf = (user: string): string => `10.1.2.${numberOf(user)}`;

const contactOf = (user: string) =>
  makeContact({
    hostname: `workstation-${numberOf(user)}`,
    ip: peerOf(user),
    peer: peerOf(user),
  });

function expectOk<T>(
  result:
    { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: unknown },
): T {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.fault)}`);
  return result.value;
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error("usage: bun test/support/simulated-month.ts FOLDER");
  await writeSimulatedMonth({ folder });
}
