// Random actions at a desk with two orders and three appliances.
import * as fc from "fast-check";
import { generateOrderKey } from "../../../src/license/codes/order-key.ts";
import type { Hosts, SoldOrder } from "./order-model.ts";
import {
  install,
  newSite,
  OrderWorld,
  PRODUCT,
  uninstall,
  type Sent,
  type Site,
} from "./order-world.ts";

const DAY = 24 * 3_600_000;

const KEYS = [generateOrderKey(), generateOrderKey(), "order 4711"] as const;
const SITES = ["A", "B", "C"] as const;

const site = fc.nat(SITES.length - 1);
const order = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.constant(1) },
  { weight: 2, arbitrary: fc.constant(2) },
);
/** Where the data folder of an appliance is used, on as many hosts as the order says unless told. */
type Where = "usual" | "other" | "miscounted" | "weak";

const where: fc.Arbitrary<Where> = fc.oneof(
  { weight: 12, arbitrary: fc.constant("usual") },
  { weight: 2, arbitrary: fc.constant("other") },
  { weight: 1, arbitrary: fc.constant("miscounted") },
  { weight: 1, arbitrary: fc.constant("weak") },
);
const days = fc.oneof(
  { weight: 4, arbitrary: fc.nat(20) },
  { weight: 2, arbitrary: fc.integer({ min: 20, max: 200 }) },
  { weight: 1, arbitrary: fc.integer({ min: 200, max: 800 }) },
);

const size = fc.record({
  appliances: fc.constantFrom(1, 1, 2, 3),
  hosts: fc.constantFrom(1 as const, 1 as const, 1 as const, 1 as const, 2 as const),
  allowWeak: fc.boolean(),
  moves: fc.constantFrom(0, 1, 1, 2),
  days: fc.option(fc.integer({ min: 100, max: 3_000 })),
  borrowDays: fc.constantFrom(0, 1, 30),
  consumption: fc.option(fc.constant(100), { freq: 5 }),
});

/** A usual machine: one part of five may change. */
export const hostsOf = (name: string, cards = 0): Hosts => [
  [`${name} board`, `${name} disk`, `${name} product`, `${name} machine`, `mac ${name} ${cards}`],
];

const is = <T extends string>(type: T) => fc.constant(type);

const ACTION = fc.oneof(
  {
    weight: 180,
    arbitrary: fc.record({
      type: is("ask"),
      site,
      order: fc.option(order, { freq: 6 }),
      where,
      product: fc.constantFrom(
        ...Array.from({ length: 15 }, () => [PRODUCT, null]).flat(),
        "other",
      ),
      isSpelledOtherwise: fc.boolean(),
      lines: fc.constantFrom(1, 3, 500),
      isSent: fc.constantFrom(...Array.from({ length: 9 }, () => true), false),
      isInstalled: fc.constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 20,
    arbitrary: fc.record({
      type: is("send again"),
      index: fc.nat(5),
      isInstalled: fc.boolean(),
    }),
  },
  { weight: 16, arbitrary: fc.record({ type: is("code"), site, order, where }) },
  {
    weight: 40,
    arbitrary: fc.record({ type: is("return"), site, borrows: fc.constantFrom(0, 0, 2) }),
  },
  { weight: 40, arbitrary: fc.record({ type: is("wait"), days, hours: fc.nat(23) }) },
  {
    weight: 20,
    arbitrary: fc.record({
      type: is("person"),
      site,
      order,
      lost: fc.option(site),
      isNew: fc.constantFrom(false, false, true),
    }),
  },
  { weight: 8, arbitrary: fc.record({ type: is("change order"), order, size }) },
  { weight: 1, arbitrary: fc.record({ type: is("close"), order }) },
  { weight: 4, arbitrary: fc.record({ type: is("change key"), retire: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ type: is("mark restored") }) },
  { weight: 5, arbitrary: fc.record({ type: is("end restored") }) },
  { weight: 3, arbitrary: fc.record({ type: is("back up desk") }) },
  { weight: 2, arbitrary: fc.record({ type: is("restore desk"), isByHand: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ type: is("snapshot"), site }) },
  { weight: 4, arbitrary: fc.record({ type: is("restore site"), site }) },
  { weight: 8, arbitrary: fc.record({ type: is("new network card"), site }) },
  { weight: 8, arbitrary: fc.record({ type: is("consume"), site, count: fc.nat(60) }) },
);

type Weighted = typeof ACTION extends fc.Arbitrary<infer T> ? T : never;

export type OrderAction = Weighted;

/** The orders at first, and what happens then. */
export const orderRun = (length: number) =>
  fc.record({
    sizes: fc.tuple(size, size, size),
    actions: fc.array(ACTION, { maxLength: length, size: "max" }),
  });

type Size = typeof size extends fc.Arbitrary<infer T> ? T : never;

export class OrderRun {
  world = new OrderWorld();
  readonly #sites: Site[] = SITES.map(newSite);
  readonly #snapshots: Site[] = SITES.map(newSite);
  readonly #cards = SITES.map(() => 0);
  readonly #sent: Sent[] = [];
  #backup: OrderWorld | null = null;

  constructor(sizes: readonly Size[]) {
    sizes.forEach((each, index) => this.world.sell(this.#order(index, each)));
  }

  #order(index: number, { days: end, borrowDays, ...differing }: Size): SoldOrder {
    return {
      ...differing,
      key: KEYS[index] ?? "",
      isOwnKey: index < 2,
      product: PRODUCT,
      end: end === null ? null : this.world.now + end * DAY,
      borrowHours: borrowDays * 24,
    };
  }

  #hosts(index: number, order: number, where: Where): Hosts {
    const name = SITES[index] ?? "";
    if (where === "weak") return [[`${name} board`]];
    const sold = this.world.model.order(KEYS[order] ?? "")?.sold.hosts ?? 1;
    const isPair = (sold === 2) === (where !== "miscounted");
    const first = where === "other" ? hostsOf(`${name}1`) : hostsOf(`${name}0`, this.#cards[index]);
    return isPair ? [...first, ...hostsOf(`${name}2`)] : first;
  }

  perform(action: OrderAction): void {
    const { world } = this;
    switch (action.type) {
      case "ask": {
        const { product, lines } = action;
        const key = action.order === null ? null : (KEYS[action.order] ?? null);
        const [sent, after] = world.makeRequest(
          this.#site(action.site),
          {
            key,
            ...(key !== null &&
              action.isSpelledOtherwise &&
              action.order !== 2 && { spelling: key.toLowerCase().replaceAll("-", "") }),
            product,
            hosts: this.#hosts(action.site, action.order ?? 0, action.where),
          },
          lines,
        );
        this.#sites[action.site] = after;
        this.#sent.push(sent);
        if (!action.isSent) return;
        const issued = world.answer(sent);
        if (issued !== null && action.isInstalled)
          this.#sites[action.site] = install(after, issued);
        return;
      }
      case "send again": {
        const sent = this.#sent.at(-1 - action.index);
        if (sent === undefined) return;
        const issued = world.answer(sent);
        const index = this.#sites.findIndex(({ appliance }) => appliance === sent.ask.appliance);
        if (issued === null || !action.isInstalled) return;
        this.#sites[index] = install(this.#site(index), issued);
        return;
      }
      case "code": {
        const { site: index, order: number } = action;
        const hosts = this.#hosts(index, number, action.where);
        const issued = world.confirm(this.#site(index), KEYS[number] ?? "", hosts);
        if (issued !== null) this.#sites[index] = install(this.#site(index), issued);
        return;
      }
      case "return": {
        const before = this.#site(action.site);
        const [installed] = before.installed;
        if (installed === undefined) return;
        world.receive(before, installed.license, action.borrows);
        this.#sites[action.site] = uninstall(before, installed.license);
        return;
      }
      case "wait":
        world.now += action.days * DAY + action.hours * (DAY / 24) + 1_000;
        return;
      case "person": {
        const { site: index, order: number, lost, isNew } = action;
        const hosts = this.#hosts(index, number, "usual");
        const options = { key: KEYS[number] ?? null, hosts };
        const [sent, after] = world.makeRequest(this.#site(index), options);
        const name = lost === null || lost === index ? null : (SITES[lost] ?? null);
        const issued = world.decide(sent, name, isNew);
        this.#sites[index] = issued === null ? after : install(after, issued);
        this.#sent.push(sent);
        return;
      }
      case "change order":
        if (world.model.order(KEYS[action.order] ?? "")?.isClosed === true) return;
        return world.sell(this.#order(action.order, action.size));
      case "close":
        return world.close(KEYS[action.order] ?? "");
      case "change key":
        return world.changeKey(action.retire);
      case "mark restored":
        return world.markRestored();
      case "end restored":
        return world.endRestored();
      case "back up desk":
        this.#backup = world.copy();
        return;
      case "restore desk": {
        if (this.#backup === null) return;
        const { now, requestCount, issuingKey, retired } = world;
        this.world = this.#backup.copy();
        Object.assign(this.world, { now, requestCount, issuingKey });
        for (const key of retired)
          if (!this.world.retired.includes(key)) this.world.model.retire(key);
        this.world.retired = retired;
        if (!action.isByHand) this.world.markRestored();
        return;
      }
      case "snapshot":
        this.#snapshots[action.site] = this.#site(action.site);
        return;
      case "restore site":
        this.#sites[action.site] = this.#snapshots[action.site] ?? newSite("");
        return;
      case "new network card":
        this.#cards[action.site] = (this.#cards[action.site] ?? 0) + 1;
        return;
      case "consume": {
        const before = this.#site(action.site);
        const last = before.heads.at(-1);
        if (last === undefined) return;
        const installed = before.installed.map((entry) => ({
          ...entry,
          total: entry.total + action.count,
        }));
        this.#sites[action.site] = { ...before, installed, lines: installed.length };
      }
    }
  }

  #site(index: number): Site {
    return this.#sites[index] ?? newSite("");
  }
}
