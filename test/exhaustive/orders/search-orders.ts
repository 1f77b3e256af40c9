// Everything that can happen to one order of one appliance and one move a year: two appliances, a
// copy of the data folder of the first one on other hardware, codes, returns, lost machines, another
// issuing key, and a snapshot that is restored at the first one.
import { hostsOf } from "../../desk/orders/order-actions.ts";
import { YEAR, type Installed } from "../../desk/orders/order-model.ts";
import {
  install,
  newSite,
  OrderWorld,
  PRODUCT,
  uninstall,
  type Sent,
  type Site,
} from "../../desk/orders/order-world.ts";
import { searchBreadthFirst, type SearchResult, type Step } from "../search.ts";

const DAY = 24 * 3_600_000;
const KEY = "QAAAA";
/** Longer than a month, less than two. */
const BORROW_DAYS = 40;
const MONTH = 30 * DAY;

type Name = "A" | "B";

interface World {
  readonly desk: OrderWorld;
  readonly sites: Readonly<Record<Name, Site>>;
  /** The data folder of A before its last change. */
  readonly snapshot: Site;
  /** The last request of A. */
  readonly sent: Sent | null;
}

function makeStart(): World {
  const desk = new OrderWorld();
  desk.sell({
    key: KEY,
    isOwnKey: true,
    product: PRODUCT,
    appliances: 1,
    hosts: 1,
    allowWeak: false,
    moves: 1,
    end: null,
    borrowHours: BORROW_DAYS * 24,
    consumption: null,
  });
  const sites = { A: newSite("A"), B: newSite("B") };
  return { desk, sites, snapshot: sites.A, sent: null };
}

function withSite(world: World, name: Name, site: Site): World {
  const snapshot = name === "A" ? world.sites.A : world.snapshot;
  return { ...world, sites: { ...world.sites, [name]: site }, snapshot };
}

/** What a request does at the desk; the site installs the answer. */
type Answer = (desk: OrderWorld, sent: Sent) => ReturnType<OrderWorld["answer"]>;

function ask(world: World, name: Name, machine: string, answer: Answer): World {
  const options = { key: KEY, hosts: hostsOf(machine) };
  const [sent, site] = world.desk.makeRequest(world.sites[name], options);
  const issued = answer(world.desk, sent);
  const after = issued === null ? site : install(site, issued);
  return { ...withSite(world, name, after), sent: name === "A" ? sent : world.sent };
}

function confirm(world: World, name: Name, machine: string): World | null {
  const issued = world.desk.confirm(world.sites[name], KEY, hostsOf(machine));
  return issued === null ? null : withSite(world, name, install(world.sites[name], issued));
}

function giveBack(world: World, name: Name, borrows: number): World | null {
  const site = world.sites[name];
  const [installed] = site.installed;
  if (installed === undefined) return null;
  world.desk.receive(site, installed.license, borrows);
  return withSite(world, name, uninstall(site, installed.license));
}

function sendAgain(world: World): World | null {
  if (world.sent === null) return null;
  const issued = world.desk.answer(world.sent);
  return issued === null ? world : withSite(world, "A", install(world.sites.A, issued));
}

const automatically: Answer = (desk, sent) => desk.answer(sent);
const byPerson: Answer = (desk, sent) => desk.decide(sent, null);
const replacing =
  (lost: Name): Answer =>
  (desk, sent) =>
    desk.decide(sent, lost);

function wait(world: World, time: number): World {
  world.desk.now += time;
  return world;
}

const ACTIONS: Readonly<Record<string, (world: World) => World | null>> = {
  "A asks": (world) => ask(world, "A", "A", automatically),
  "B asks": (world) => ask(world, "B", "B", automatically),
  "the copy of A asks": (world) => ask(world, "A", "copy", automatically),
  "A asks again with the same request": (world) => sendAgain(world),
  "A asks by code": (world) => confirm(world, "A", "A"),
  "B asks by code": (world) => confirm(world, "B", "B"),
  "the copy of A asks by code": (world) => confirm(world, "A", "copy"),
  "A returns its license": (world) => giveBack(world, "A", 0),
  "A returns its license with borrows": (world) => giveBack(world, "A", 2),
  "B returns its license": (world) => giveBack(world, "B", 0),
  "B returns its license with borrows": (world) => giveBack(world, "B", 2),
  "a person grants what A asks": (world) => ask(world, "A", "A", byPerson),
  "a person grants what B asks": (world) => ask(world, "B", "B", byPerson),
  "A was lost, and B replaces it": (world) => ask(world, "B", "B", replacing("A")),
  "B was lost, and A replaces it": (world) => ask(world, "A", "A", replacing("B")),
  "a snapshot of A is restored": (world) => withSite(world, "A", world.snapshot),
  "another issuing key": (world) => {
    world.desk.changeKey(false);
    return world;
  },
  "another issuing key, and the first is retired": (world) => {
    world.desk.changeKey(true);
    return world;
  },
  "a month passes": (world) => wait(world, MONTH),
  "a year passes": (world) => wait(world, YEAR),
};

/** Parts of the actions, for longer sequences. */
const PARTS = {
  everything: /./,
  "codes and borrows": /^(?:[AB] asks|[AB] asks by code|[AB] returns.*|a (?:month|year) passes)$/,
  "copies, lost machines and keys":
    /^(?:A|B|the copy of A) asks(?: again.*)?$|lost|snapshot|key|^[AB] returns its license$|year/,
} as const;

export type OrderActions = keyof typeof PARTS;

function* listSteps(world: World, actions: readonly string[]): Iterable<Step<SearchedWorld>> {
  for (const action of actions) {
    const perform = (): SearchedWorld | null => {
      const after = ACTIONS[action]?.({ ...world, desk: world.desk.copy() }) ?? null;
      return after === null ? null : withKey(after);
    };
    yield { action, perform };
  }
}

/** Requests and returns take a second each. */
const inDays = (time: number): number => Math.round(time / DAY);

/** Times count relative to now, numbers of licenses by their order, and what is over is left out. */
function keyOf({ desk, sites, snapshot, sent }: World): string {
  const { holdings, seen, lost, orders, answers, retired } = desk.model.state;
  const { now, issuingKey } = desk;
  const places = [sites.A, sites.B, snapshot];
  const isReferred = (appliance: string, license: number): boolean =>
    places.some(
      (site) =>
        site.appliance === appliance && site.installed.some((entry) => entry.license === license),
    ) ||
    (sent?.ask.appliance === appliance &&
      (sent.ask.installed.some((entry) => entry.license === license) ||
        answers[`${appliance} ${sent.ask.id}`]?.license === license));
  const kept = holdings.filter(
    ({ appliance, license, over, borrowedUntil }) =>
      over === null || borrowedUntil > now || isReferred(appliance, license),
  );
  const indexOf = (appliance: string, license: number): number =>
    kept.findLastIndex((entry) => entry.appliance === appliance && entry.license === license);
  const describeInstalled = (appliance: string, entry: Installed) => {
    const { license, serial } = entry;
    const index = kept.findIndex((held) => held === desk.model.findInstalled(appliance, entry));
    const isReceived = desk.ledger
      .receiptsFor({ appliance, license_id: license })
      .some((entry) => entry.serial === serial);
    return [index, serial - (kept[index]?.serial ?? 0), isReceived];
  };
  const describeLog = (appliance: string, log: readonly string[]) => {
    const last = seen[appliance]?.at(-1);
    return last === undefined || log.includes(last.id);
  };
  const describeSent = ({ ask: { id, appliance, log, installed, createdAt, hosts } }: Sent) => {
    const answered = answers[`${appliance} ${id}`];
    const last = seen[appliance]?.at(-1);
    return [
      answered && [answered.issuingKey, indexOf(appliance, answered.license)],
      describeLog(appliance, log),
      last?.log.includes(id),
      createdAt < (last?.createdAt ?? 0),
      hosts,
      installed.map((entry) => [
        describeInstalled(appliance, entry),
        createdAt >= (desk.model.findInstalled(appliance, entry)?.over?.at ?? 0),
      ]),
    ];
  };
  const order = orders[KEY];
  const facts = JSON.stringify([
    issuingKey,
    retired,
    lost,
    order?.taken,
    order?.moves.map((at) => now - at).flatMap((age) => (age < YEAR ? [inDays(age)] : [])),
    kept.map(({ appliance, form, hosts, borrowedUntil, over }) => [
      appliance,
      form,
      over === null ? hosts : null,
      inDays(Math.max(0, borrowedUntil - now)),
    ]),
    desk.acquisitions.map(({ at }) => now - at).filter((age) => age < YEAR).length,
    places.map(({ appliance, installed, heads }) => [
      installed.map((entry) => describeInstalled(appliance, entry)),
      describeLog(
        appliance,
        heads.map(({ request_id }) => request_id),
      ),
    ]),
    sent === null ? null : describeSent(sent),
  ]);
  return Bun.hash(facts).toString(36);
}

interface SearchedWorld extends World {
  readonly key: string;
}

/** Many worlds are kept at a time: without what can be computed again. */
function withKey(world: World): SearchedWorld {
  const key = keyOf(world);
  world.desk.dropIndexes();
  return { ...world, key };
}

export function searchOrders(part: OrderActions, maxWorlds: number): Promise<SearchResult> {
  const actions = Object.keys(ACTIONS).filter((action) => PARTS[part].test(action));
  return searchBreadthFirst({
    start: withKey(makeStart()),
    keyOf: ({ key }) => key,
    listSteps: (world) => listSteps(world, actions),
    maxWorlds,
  });
}
