// Where an attack comes from: pages of every origin that is not Berth's own.
import type { Browser, Frame, Page } from "playwright-core";
import { PATIENCE } from "../support/patience.ts";
import { emptyPage, NO_REFERRER, ATTACK_SCRIPT } from "./attacker.ts";
import type { AttackRequest } from "./route-requests.ts";

export interface AttackOrigin {
  readonly name: string;
  /** What it attacks: Berth's address, or the name of its own that leads there. */
  readonly targetUrl: string;
  /** The browser takes its page for Berth's own. */
  readonly isRebound: boolean;
  /** What a way could read of the answers. */
  fire(way: string, shots: readonly AttackRequest[], pace: number): Promise<string[]>;
}

export interface AttackAddresses {
  /** The attacker's server under a name of its own, and as another port of Berth's address. */
  readonly attackerUrl: string;
  readonly otherPortUrl: string;
  /** A page in a file. */
  readonly fileUrl: string;
  /** Berth's address. */
  readonly berthUrl: string;
  /** A name of the attacker's that leads to Berth. */
  readonly reboundUrl: string;
}

/** What `attacks.js` leaves in a page. */
declare const fire: (
  way: string,
  shots: readonly AttackRequest[],
  home: string,
  pace: number,
) => Promise<string[]>;
declare const attacks: object;

/** One page for each place, in a browser profile of its own. */
export async function openAttackOrigins(
  browser: Browser,
  { attackerUrl, otherPortUrl, fileUrl, berthUrl, reboundUrl }: AttackAddresses,
  credentials?: { readonly username: string; readonly password: string },
): Promise<AttackOrigin[]> {
  const context = await browser.newContext(credentials && { httpCredentials: credentials });
  context.setDefaultTimeout(PATIENCE);
  const open = async (url: string): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(url);
    return page;
  };
  const armed = async (name: string, where: Page | Frame, to = berthUrl): Promise<AttackOrigin> => {
    await where.evaluate(ATTACK_SCRIPT);
    if (name.endsWith("silent"))
      await where.evaluate(`document.head.innerHTML += '${NO_REFERRER}'`);
    return {
      name,
      targetUrl: to,
      isRebound: to === reboundUrl,
      fire: (way, shots, pace) =>
        where.evaluate(([way, shots, home, pace]) => fire(way, shots, home, pace), [
          way,
          shots,
          attackerUrl,
          pace,
        ] as const),
    };
  };
  return [
    await armed("another site", await open(attackerUrl)),
    await armed("another site, silent", await open(`${attackerUrl}/?silent`)),
    await armed("another port", await open(otherPortUrl)),
    await armed("another port, silent", await open(`${otherPortUrl}/?silent`)),
    await armed("a sandboxed frame", await sandboxed(await open(attackerUrl))),
    await armed(
      "a data: page",
      await open(`data:text/html,${encodeURIComponent(emptyPage(false))}`),
    ),
    await armed("a file", await open(fileUrl)),
    // There is no such page; the origin of the answer is the attacker's name all the same.
    await armed("a name that leads here", await open(`${reboundUrl}/nothing`), reboundUrl),
    await armed("a name that leads here, silent", await open(`${reboundUrl}/nothing`), reboundUrl),
  ];
}

async function sandboxed(page: Page): Promise<Frame> {
  await page.evaluate(`new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts allow-forms allow-popups";
    frame.src = "/";
    frame.onload = done;
    document.body.append(frame);
  })`);
  const frame = page.frames()[1];
  if (frame === undefined) throw new Error("there is no frame");
  return frame;
}

export const readAttackNames = async (browser: Browser): Promise<string[]> => {
  const page = await browser.newPage();
  await page.evaluate(ATTACK_SCRIPT);
  const names = await page.evaluate(() => Object.keys(attacks));
  await page.close();
  return names;
};
