// Pages of other sites attack a running Berth from a real browser with every technique a page has.
// They must not change or read anything; the same requests from Berth's own page and from a program
// must succeed.
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
/** A network address is no secure context: a browser sends no Sec-Fetch headers there. */
const network = Object.values(networkInterfaces())
  .flat()
  .find((entry) => entry?.family === "IPv4" && !entry.internal)?.address;

const browser = await startChromium({
  "evil.example": LOOPBACK,
  "rebound.example": LOOPBACK,
  "rebound-network.example": network ?? LOOPBACK,
});
const attackerPort = startAttacker();
const attackerUrl = `http://evil.example:${attackerPort}`;
const fileUrl = pageFile(makeTempFolder());
/** Every technique is used on every route, but each origin attacks only every SHARE-th route. */
const SHARE = chooseSize(3, 1);
/** Arguments name the techniques to use; without any, all of them. */
const selected = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const allTechniques = (await readAttackNames(browser)).filter(
  (technique) => selected.length === 0 || selected.includes(technique),
);
/** By technique, how many requests arrived. */
const arrivals = new Map<string, number>();
/** Techniques that this browser does not use on a plain HTTP address. */
const BLOCKED_BY_BROWSER = new Set(["prefetch rule", "prerender rule"]);

function attackAddresses(site: DemoSite, address: string): AttackAddresses {
  const reboundName = address === LOOPBACK ? "rebound.example" : "rebound-network.example";
  return {
    attackerUrl,
    otherPortUrl: `http://${address}:${attackerPort}`,
    fileUrl,
    berthUrl: site.urlAt(address),
    reboundUrl: site.urlAt(reboundName),
  };
}

async function attackAll(
  description: string,
  site: DemoSite,
  address: string,
  login?: typeof LOGIN,
  { techniques, timeFactor } = { techniques: allTechniques, timeFactor: 1 },
): Promise<void> {
  const origins = await openAttackOrigins(browser, attackAddresses(site, address), login);
  for (const [round, technique] of techniques.entries()) {
    // Each technique gets other requests: a URL the browser has loaded as an image is not loaded
    // again. A browser that has a saved password sends it only where it is requested: at /auth.
    const isSelected: RequestSelector = (request, requestIndex, originIndex) =>
      login === undefined
        ? (requestIndex + originIndex + round) % SHARE === 0
        : request.url.endsWith("/auth");
    const what = `other sites attack ${description} at ${address} by ${technique}`;
    const arrived = await attack(what, technique, site, origins, isSelected, timeFactor);
    arrivals.set(technique, (arrivals.get(technique) ?? 0) + arrived);
  }
}

/** Berth's own page can log in with the password that the browser has saved. */
async function checkLogin(site: DemoSite): Promise<void> {
  const page = await openPage(browser, { bypassCSP: true, httpCredentials: LOGIN });
  await page.goto(site.urlAt(LOOPBACK));
  const status = await page.evaluate(async () => (await fetch("/auth")).status);
  check("Berth's own page logs in with the password saved in the browser", status === 200, status);
  await page.close();
}

const protectedSite = await DemoSite.start();
await protectedSite.call("/api/admin/v1/access/users", {
  name: LOGIN.username,
  role: "admin",
  password: LOGIN.password,
});
for (const address of [LOOPBACK, network]) {
  if (address === undefined) {
    skip("attacks of other sites on a network address", "this machine has no network address");
    continue;
  }
  await attackAll("a server without credentials", await DemoSite.start(), address);
  // Over the network a password is refused without TLS.
  if (address === LOOPBACK) {
    await attackAll("a server with a saved password", protectedSite, address, LOGIN);
    await checkLogin(protectedSite);
  }
  await checkAllowedCallers(browser, address);
  const site = await DemoSite.start();
  await checkLinksAndFrames(browser, attackerUrl, site.urlAt(address), site);
}
const unusedTechniques = () =>
  allTechniques.filter(
    (technique) => arrivals.get(technique) === 0 && !BLOCKED_BY_BROWSER.has(technique),
  );
// A busy browser may send nothing within the time limit of a technique.
for (const timeFactor of [10, 100]) {
  const techniques = unusedTechniques();
  if (techniques.length === 0) break;
  const what = `a server with time limits ${timeFactor} times as long`;
  await attackAll(what, await DemoSite.start(), LOOPBACK, undefined, { techniques, timeFactor });
}
check(
  "every technique of other sites makes at least one request arrive",
  unusedTechniques().length === 0,
  unusedTechniques(),
);
const total = [...arrivals.values()].reduce((sum, arrived) => sum + arrived, 0);
console.log(`${allTechniques.length} techniques, ${total} requests arrived`);
finish();
