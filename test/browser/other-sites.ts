// Pages of other sites try to use a running Berth from a real browser, in every way a page has, and
// must not change anything or read anything; the same requests from Berth's own page and from a
// program must.
import { networkInterfaces } from "node:os";
import { check, finish, makeTempFolder, chooseSize, skip } from "../support/suite-harness.ts";
import { attack, type RequestSelector } from "./attack.ts";
import { pageFile, startAttacker } from "./attacker.ts";
import { openPage, startChromium } from "./chromium.ts";
import { checkAllowedCallers } from "./allowed-callers.ts";
import { checkLinksAndFrames } from "./page-embedding.ts";
import { openAttackOrigins, readAttackNames, type AttackAddresses } from "./attack-origins.ts";
import { LOOPBACK, DemoSite } from "./demo-site.ts";

const LOGIN = { username: "admin", password: "correct horse battery" };
/** An address a browser does not trust by itself: it tells the server less there. */
const network = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;

const browser = await startChromium({
  "evil.example": LOOPBACK,
  "rebound.example": LOOPBACK,
  "rebound-network.example": network ?? LOOPBACK,
});
const attacker = startAttacker();
const home = `http://evil.example:${attacker}`;
const file = pageFile(makeTempFolder());
/** Every way leads to every route, but not from every place: from each of them to a third. */
const SHARE = chooseSize(3, 1);
/** Words name the ways to go; without any, all of them. */
const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const names = (await readAttackNames(browser)).filter(
  (way) => words.length === 0 || words.includes(way),
);
/** How many requests arrived, by the way they were sent. */
const sent = new Map<string, number>();
/** Ways that this browser itself does not go to a plain address. */
const STOPPED = new Set(["prefetch rule", "prerender rule"]);

function aroundOf(site: DemoSite, address: string): AttackAddresses {
  const name = address === LOOPBACK ? "rebound.example" : "rebound-network.example";
  const neighbour = `http://${address}:${attacker}`;
  return {
    attackerUrl: home,
    otherPortUrl: neighbour,
    fileUrl: file,
    berthUrl: site.urlAt(address),
    reboundUrl: site.urlAt(name),
  };
}

async function attackAll(
  how: string,
  site: DemoSite,
  address: string,
  login?: typeof LOGIN,
  { ways, pace } = { ways: names, pace: 1 },
): Promise<void> {
  const places = await openAttackOrigins(browser, aroundOf(site, address), login);
  for (const [turn, way] of ways.entries()) {
    // Not the same ones by all ways: what a browser knows as an image, it does not load as another.
    // A browser that knows a password sends it where it is asked for, and only there.
    const isMeant: RequestSelector = (shot, at, place) =>
      login === undefined ? (at + place + turn) % SHARE === 0 : shot.url.endsWith("/auth");
    const what = `${how} at ${address}: ${way}`;
    const arrived = await attack(what, way, site, places, isMeant, pace);
    sent.set(way, (sent.get(way) ?? 0) + arrived);
  }
}

/** The browser knows the password by heart, and sends it to whoever may ask for it. */
async function checkLogin(site: DemoSite): Promise<void> {
  const page = await openPage(browser, { bypassCSP: true, httpCredentials: LOGIN });
  await page.goto(site.urlAt(LOOPBACK));
  const status = await page.evaluate(async () => (await fetch("/auth")).status);
  check("the own page logs in with what the browser knows", status === 200, status);
  await page.close();
}

const claimed = await DemoSite.start();
await claimed.call("/api/admin/v1/access/users", {
  name: LOGIN.username,
  role: "admin",
  password: LOGIN.password,
});
for (const address of [LOOPBACK, network]) {
  if (address === undefined) {
    skip("attacks on an address of the network", "this machine has none");
    continue;
  }
  await attackAll("open administration", await DemoSite.start(), address);
  // Over the network no password is taken without TLS.
  if (address === LOOPBACK) {
    await attackAll("somebody logged in", claimed, address, LOGIN);
    await checkLogin(claimed);
  }
  await checkAllowedCallers(browser, address);
  const site = await DemoSite.start();
  await checkLinksAndFrames(browser, home, site.urlAt(address), site);
}
const untried = () => names.filter((way) => sent.get(way) === 0 && !STOPPED.has(way));
// A browser that has much to do may send nothing in the time that a way is given.
for (const pace of [10, 100]) {
  const ways = untried();
  if (ways.length === 0) break;
  await attackAll(`${pace} times as slowly`, await DemoSite.start(), LOOPBACK, undefined, {
    ways,
    pace,
  });
}
check("every way was gone", untried().length === 0, untried());
const total = [...sent.values()].reduce((sum, arrived) => sum + arrived, 0);
console.log(`${names.length} ways, ${total} requests arrived`);
finish();
