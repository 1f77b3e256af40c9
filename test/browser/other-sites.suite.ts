// Pages of other sites attack a running Berth from a real browser with every technique a page has.
// They must not change or read anything; the same requests from Berth's own page and from a program
// must succeed.
import { beforeAll, describe, expect, test } from "bun:test";
import { chooseSize, makeTempFolder, testUnless } from "../support/suite-harness.ts";
import { callRoutes, OWN_PAGE, PROGRAM, sendJsonAs } from "./allowed-callers.ts";
import { attack, type AttackOutcome, type RequestSelector } from "./attack.ts";
import { openAttackOrigins, type AttackOrigin } from "./attack-origins.ts";
import { pageFile, startAttacker, TECHNIQUES } from "./attacker.ts";
import { openPage } from "./chromium.ts";
import { DemoSite } from "./demo-site.ts";
import { clickLinks, FRAME_TAGS, followLink, framePage } from "./links-and-frames.ts";
import { LOOPBACK, networkAddress, noNetworkAddress } from "./network-address.ts";

const LOGIN = { username: "admin", password: "correct horse battery" };

/**
 * Every technique is used on every route: in a usual run from one of the origins, another one for
 * each route and technique; in a soak from all of them.
 */
const ORIGINS_PER_ROUTE = chooseSize(1, Infinity);

/** Techniques that this browser does not use on a plain HTTP address. */
const BLOCKED_BY_BROWSER = new Set(["prefetch rule", "prerender rule"]);

const ADDRESSES = [
  { address: LOOPBACK, testHere: testUnless(null) },
  { address: networkAddress ?? "a network address", testHere: testUnless(noNetworkAddress) },
];

let attackerPort: number;
let attackerUrl: string;

beforeAll(() => {
  attackerPort = startAttacker();
  attackerUrl = `http://evil.example:${attackerPort}`;
});

describe("pages of other sites change and read nothing of Berth", () => {
  interface Target {
    readonly description: string;
    readonly site: DemoSite;
    readonly origins: readonly AttackOrigin[];
    readonly hasLogin: boolean;
  }
  let targets: Target[];

  beforeAll(async () => {
    targets = [
      await openTarget("a server without credentials", LOOPBACK),
      // Over the network a password is refused without TLS.
      await openTarget("a server whose password the browser has saved", LOOPBACK, LOGIN),
    ];
    if (networkAddress !== undefined) {
      targets.push(await openTarget("a server in the network", networkAddress));
    }
  });

  async function openTarget(
    description: string,
    address: string,
    login?: typeof LOGIN,
  ): Promise<Target> {
    const site = await startDemo(login);
    const reboundName = address === LOOPBACK ? "rebound.example" : "rebound-network.example";
    const addresses = {
      attackerUrl,
      otherPortUrl: `http://${address}:${attackerPort}`,
      fileUrl: pageFile(makeTempFolder()),
      berthUrl: site.urlAt(address),
      reboundUrl: site.urlAt(reboundName),
    };
    const origins = await openAttackOrigins(addresses, login);
    return { description, site, origins, hasLogin: login !== undefined };
  }

  function attackTarget(
    { site, origins, hasLogin }: Target,
    technique: string,
    timeFactor: number,
  ): Promise<AttackOutcome> {
    // Each technique gets other requests: a URL the browser has loaded as an image is not loaded
    // again. A browser that has a saved password sends it only where it is requested: at /auth.
    const round = TECHNIQUES.indexOf(technique);
    const isSelected: RequestSelector = (request, requestIndex, originIndex, originCount) =>
      hasLogin
        ? request.url.endsWith("/auth")
        : (requestIndex + originIndex + round) % originCount < ORIGINS_PER_ROUTE;
    return attack(technique, site, origins, isSelected, timeFactor);
  }

  test.each(TECHNIQUES)("by %s, though requests arrive", async (technique) => {
    let arrived = 0;
    // A busy browser may send nothing within the time limit of a technique.
    for (const timeFactor of [1, 10, 100]) {
      const outcomes = await Promise.all(
        targets.map(async (target) => ({
          ...(await attackTarget(target, technique, timeFactor)),
          target: target.description,
        })),
      );
      expect(outcomes.filter(({ violations }) => violations.length > 0)).toEqual([]);
      arrived += outcomes.reduce((sum, outcome) => sum + outcome.arrived, 0);
      if (arrived > 0 || BLOCKED_BY_BROWSER.has(technique)) break;
    }
    console.log(`${arrived} requests arrived by ${technique}`);
    if (!BLOCKED_BY_BROWSER.has(technique)) expect(arrived).toBeGreaterThan(0);
  });
});

test("Berth's own page logs in with the password saved in the browser", async () => {
  const site = await startDemo(LOGIN);
  const page = await openPage({ bypassCSP: true, httpCredentials: LOGIN });
  await page.goto(site.urlAt(LOOPBACK));
  expect(await page.evaluate(async () => (await fetch("/auth")).status)).toBe(200);
  await page.close();
});

// The requests of the attacks must have their effect if they are allowed, or the attacks would
// prove nothing.
for (const { address, testHere } of ADDRESSES) {
  for (const caller of [PROGRAM, OWN_PAGE]) {
    testHere(`${caller.name} can call every route that is attacked, at ${address}`, async () => {
      const { outcomes, expected } = await callRoutes(caller, address);
      expect(outcomes).toEqual(expected);
    });
  }

  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
    testHere(`JSON sent as ${type} by Berth's own page is refused at ${address}`, async () => {
      expect(await sendJsonAs(type, address)).toEqual({ accepted: [], hasChanged: false });
    });
  }
}

describe("links and frames on pages of other sites", () => {
  let site: DemoSite;

  beforeAll(async () => {
    site = await DemoSite.start();
  });

  for (const { address, testHere } of ADDRESSES) {
    for (const [query, kind] of [
      ["", "with a Referer"],
      ["/?silent", "without a Referer"],
    ] as const) {
      testHere(`can open Berth's page at ${address} ${kind}`, async () => {
        const heading = await followLink(`${attackerUrl}${query}`, site.urlAt(address, "/"));
        expect(heading).toBe("Berth");
      });

      testHere(`change nothing at ${address} when they are clicked ${kind}`, async () => {
        expect(await clickLinks(`${attackerUrl}${query}`, site.urlAt(address), site)).toEqual([]);
      });

      for (const tag of Object.keys(FRAME_TAGS) as (keyof typeof FRAME_TAGS)[]) {
        testHere(`cannot show Berth's page at ${address} in <${tag}> ${kind}`, async () => {
          const title = await framePage(`${attackerUrl}${query}`, tag, site.urlAt(address));
          expect(title).not.toBe("Berth");
        });
      }
    }
  }
});

/** A demo, with a credential if one is given. */
async function startDemo(login?: typeof LOGIN): Promise<DemoSite> {
  const site = await DemoSite.start();
  if (login !== undefined) {
    const { username: name, password } = login;
    await site.call("/api/admin/v1/access/users", { name, role: "admin", password });
  }
  return site;
}
