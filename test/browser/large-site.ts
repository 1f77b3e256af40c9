// Creates a data folder with as many licenses and slots as large sites have, without a server: the
// commands go to the store, which writes many of them at once.
import type { ClosedEpisode } from "../../src/domain/model/demand/episode.ts";
import type { Register } from "../../src/domain/slots/register.ts";
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import { DAY, instant, MINUTE } from "../../src/domain/time.ts";
import { sha256 } from "../../src/platform/crypto/hash.ts";
import { parseRules } from "../../src/rules/parse-rules.ts";
import { unwrap } from "../support/licensed-store.ts";
import { consumptionTerms, featureTerms, terms } from "../support/scenario.ts";
import { installNewLicense, openSiteFolder } from "../support/site-folder.ts";
import { makeContact } from "../support/contact.ts";

interface Size {
  readonly licenses: number;
  readonly slots: number;
  /** Names and texts of users, hosts and licenses; absent: usual ones, some of them long. */
  readonly texts?: readonly string[];
}

/** A text by its number, or the usual one. */
type ChooseText = (number: number, usual: string) => string;

const LONG_NAME = "Computational Fluid Dynamics and Multiphysics Suite, Enterprise Edition 2027";
const LONG_PRODUCT = "COMPUTATIONAL-FLUID-DYNAMICS-AND-MULTIPHYSICS-SUITE-2027";
const LONG_CUSTOMER = "Rheinisch-Westfälische Gesellschaft für Strömungsmechanik mbH & Co. KG";
/** Commands that are written together. */
const BATCH = 1_000;
const now = Date.now();

/** The first license has the slots; the others are in every state that the page can show. */
export async function createLargeSite(
  folder: string,
  { licenses, slots, texts }: Size,
): Promise<void> {
  const choose: ChooseText = (number, usual) =>
    texts === undefined ? usual : (texts[number % texts.length] ?? "");
  // Licenses are installed in the past, so that one has already expired.
  const clock = { now: instant(now - 40 * DAY) };
  const site = await openSiteFolder(folder, () => clock.now);
  for (const different of licenseTerms(slots, choose).slice(0, licenses)) {
    await installNewLicense(site, terms({ timeoutMinutes: 600, ...different }));
  }
  clock.now = instant(now - MINUTE);
  for (let start = 0; start < slots; start += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, slots - start) }, (_, n) => start + n);
    const results = numbers.map((number) =>
      site.store.transact(registerUser(number, "CAD", choose), () => null),
    );
    for (const result of await Promise.all(results)) unwrap(result);
  }
  if (licenses > 1) await useUp(site, choose);
  const products = licenses > 1 ? ["CAD", "ENDING"] : ["CAD"];
  // Users who have no slot wait.
  await shareSlots(site, products, (number, usual) => choose(slots + number, usual));
  await site.close();
}

type Site = Awaited<ReturnType<typeof openSiteFolder>>;

const licenseTerms = (slots: number, choose: ChooseText): Partial<Terms>[] => [
  {
    product: "CAD",
    slots: Math.max(10, slots + 2_000),
    type: "time-limited",
    validUntil: instant(Math.floor(now / DAY) * DAY + 400 * DAY),
    features: [featureTerms("MESH", { floating: { slots: 5, timeoutMinutes: 600 } })],
  },
  {
    product: choose(0, LONG_PRODUCT),
    productName: choose(1, LONG_NAME),
    customer: choose(2, LONG_CUSTOMER),
    metadata: choose(
      3,
      "site agreement 2027, cost centre 4711, see the contract for all other conditions",
    ),
    consumption: consumptionTerms({ max: null }),
    features: [featureTerms(choose(4, "SOLVER-WITH-A-VERY-LONG-FEATURE-CODE-0001"))],
  },
  {
    product: "EXPIRED",
    slots: 4,
    type: "time-limited",
    validUntil: instant(now - DAY),
  },
  {
    product: "QUOTA",
    slots: 4,
    consumption: consumptionTerms({ max: 100, overages: 50 }),
  },
  {
    product: "ENDING",
    slots: 3,
    type: "time-limited",
    validUntil: instant(now + 11 * DAY + MINUTE),
  },
  ...Array.from({ length: 20 }, (_, number) => ({
    product: `PRODUCT-${String(number + 1).padStart(2, "0")}`,
    slots: 3 + number * 7,
    validUntil: number % 3 === 0 ? null : instant(now + (60 + number * 30) * DAY),
    type: number % 3 === 0 ? ("perpetual" as const) : ("time-limited" as const),
  })),
];

const registerUser = (number: number, product: string, choose: ChooseText): Register => ({
  type: "Register",
  product,
  licenseId: null,
  user: choose(
    number,
    number % 50 === 7 ? `firstname.lastname-${number}@subsidiary.example.com` : `user-${number}`,
  ),
  contact: makeContact({
    hostname: choose(
      number + 1,
      number % 50 === 7 ? `workstation-${number}.engineering.example.com` : `ws-${number}`,
    ),
    ip: choose(number + 2, `10.${number % 7}.${number % 250}.${number % 99}`),
    info: choose(number + 3, number % 3 === 0 ? "night shift, second floor" : ""),
    peer: `10.${number % 7}.${number % 250}.1`,
  }),
  nonceDigest: null,
  identity: null,
});

/** A place must not end while the screens are checked. */
const SHARING_RULES = `# Rules of the site
[groups.simulation-and-analysis-department]
users = ["user-1", "firstname.lastname-*"]
networks = ["10.0.0.0/8"]

[[rule]]
product = "CAD"
reserve = [{ group = "simulation-and-analysis-department", slots = 2 }]
limit = { each_user = 4 }
queue = { hold_seconds = 3600, priority = ["simulation-and-analysis-department"] }

[[rule]]
product = "ENDING"
queue = { hold_seconds = 3600 }
`;

/** Rules are applied, and users wait: where a slot is free, it is held for the first of them. */
async function shareSlots(
  { store }: Site,
  products: readonly string[],
  choose: ChooseText,
): Promise<void> {
  const { rules } = parseRules(SHARING_RULES);
  if (rules === null) throw new Error("the rules have errors");
  const digest = sha256(SHARING_RULES);
  const apply = { text: SHARING_RULES, digest, rules, expected: null, peer: "10.0.0.9" };
  unwrap(await store.transact({ type: "ApplyRules", ...apply }, () => null));
  const users = ["w.waiting", "firstname.lastname-7777@subsidiary.example.com", "x#ws-17.4711"];
  for (const product of products) {
    for (const [number, usual] of users.entries()) {
      const user = choose(number, usual);
      const host = choose(number + 1, "ws-1");
      const facts = { host, address: "10.0.0.9", login: null, certificate: null };
      const place = { product, licenseId: null, user, facts, peer: "10.0.0.9" };
      unwrap(await store.transact({ type: "TakePlace", ...place }, () => null));
    }
  }
}

/** One license is full, one is consumed beyond its quota, and a user was refused. */
async function useUp({ store }: Site, choose: ChooseText): Promise<void> {
  for (const number of [1, 2, 3]) {
    unwrap(await store.transact(registerUser(number, "ENDING", choose), () => null));
  }
  const quota = { product: "QUOTA", licenseId: null, user: null, peer: "10.0.0.9" };
  const limits = { allowOverages: null, maxOverages: null, once: null };
  const add = { type: "AddConsumption" as const, ...quota, ...limits, count: 130 };
  unwrap(await store.transact(add, () => null));
  const refusal = { product: "ENDING", feature: null, code: "floating_not_available", count: 40 };
  const users = ["f.tanaka", "firstname.lastname@subsidiary.example.com"].map((usual, number) =>
    choose(number, usual),
  );
  const refusals = [{ ...refusal, users }];
  unwrap(await store.transact({ type: "CountRefusals", refusals }, () => null));
  const episodes = users.flatMap((user) => [
    deniedEpisode(user, null),
    deniedEpisode(user, "MESH"),
  ]);
  unwrap(await store.transact({ type: "EndEpisodes", episodes }, () => null));
}

const deniedEpisode = (user: string, feature: string | null): ClosedEpisode => ({
  product: feature === null ? "ENDING" : "CAD",
  feature,
  user,
  code: "slots_capped",
  rule: "max_slots_per_user = 3",
  peer: "10.0.0.9",
  firstAt: instant(now - MINUTE),
  lastAt: instant(now - MINUTE),
  attempts: 12,
  firstSeq: 1,
  lastSeq: 2,
  outcome: "gave_up",
  endedAt: instant(now - MINUTE),
});
