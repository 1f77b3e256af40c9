// The origins that attacks come from: pages of every kind of origin that is not Berth's own.
import type { Frame, Page } from "playwright-core";
import { emptyPage, NO_REFERRER, ATTACK_SCRIPT } from "./attacker.ts";
import { openProfile } from "./chromium.ts";
import type { AttackRequest } from "./route-requests.ts";

export interface AttackOrigin {
  readonly name: string;
  /** The URL it attacks: Berth's address, or the attacker's host name that resolves to Berth. */
  readonly targetUrl: string;
  /** By DNS rebinding, the browser takes its page for Berth's own. */
  readonly isRebound: boolean;
  /** Returns every text that the technique could read of the answers. */
  send(
    technique: string,
    requests: readonly AttackRequest[],
    timeFactor: number,
  ): Promise<string[]>;
}

export interface AttackAddresses {
  /** The attacker's server under its own host name, and on another port of Berth's address. */
  readonly attackerUrl: string;
  readonly otherPortUrl: string;
  /** The attacker's page as a local file. */
  readonly fileUrl: string;
  /** Berth's address. */
  readonly berthUrl: string;
  /** A host name of the attacker that resolves to Berth. */
  readonly reboundUrl: string;
}

/** A global that `attacks.js` defines in a page. */
declare const sendAttack: (
  technique: string,
  requests: readonly AttackRequest[],
  home: string,
  timeFactor: number,
) => Promise<string[]>;

/** Opens one page for each origin, all in a new browser profile. */
export async function openAttackOrigins(
  { attackerUrl, otherPortUrl, fileUrl, berthUrl, reboundUrl }: AttackAddresses,
  credentials?: { readonly username: string; readonly password: string },
): Promise<AttackOrigin[]> {
  const context = await openProfile(credentials && { httpCredentials: credentials });
  const open = async (url: string): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(url);
    return page;
  };
  const makeOrigin = async (
    name: string,
    page: Page | Frame,
    targetUrl = berthUrl,
  ): Promise<AttackOrigin> => {
    await page.evaluate(ATTACK_SCRIPT);
    if (name.endsWith("without a Referer"))
      await page.evaluate(`document.head.innerHTML += '${NO_REFERRER}'`);
    return {
      name,
      targetUrl,
      isRebound: targetUrl === reboundUrl,
      send: (technique, requests, timeFactor) =>
        page.evaluate(
          ([technique, requests, home, timeFactor]) =>
            sendAttack(technique, requests, home, timeFactor),
          [technique, requests, attackerUrl, timeFactor] as const,
        ),
    };
  };
  return [
    await makeOrigin("another site", await open(attackerUrl)),
    await makeOrigin("another site without a Referer", await open(`${attackerUrl}/?silent`)),
    await makeOrigin("another port", await open(otherPortUrl)),
    await makeOrigin("another port without a Referer", await open(`${otherPortUrl}/?silent`)),
    await makeOrigin("a sandboxed frame", await openSandboxedFrame(await open(attackerUrl))),
    await makeOrigin(
      "a data: page",
      await open(`data:text/html,${encodeURIComponent(emptyPage(false))}`),
    ),
    await makeOrigin("a file", await open(fileUrl)),
    // There is no such page, but the answer has the origin of the attacker's host name.
    await makeOrigin("a rebound name", await open(`${reboundUrl}/nothing`), reboundUrl),
    await makeOrigin(
      "a rebound name without a Referer",
      await open(`${reboundUrl}/nothing`),
      reboundUrl,
    ),
  ];
}

async function openSandboxedFrame(page: Page): Promise<Frame> {
  await page.evaluate(`new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts allow-forms allow-popups";
    frame.src = "/";
    frame.onload = done;
    document.body.append(frame);
  })`);
  const frame = page.frames()[1];
  if (frame === undefined) throw new Error("the page has no sandboxed frame");
  return frame;
}
