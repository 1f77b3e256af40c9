// Attacks a site with one technique from all origins, and finds out what was changed or read.
import { routeRequestsFor, attackRequestsAt, type AttackRequest } from "./route-requests.ts";
import type { AttackOrigin } from "./attack-origins.ts";
import type { DemoSite } from "./demo-site.ts";

/** Forms need a frame for every POST route, which takes time: they use one origin of each kind. */
const FORM_ORIGINS = new Set([
  "another site without a Referer",
  "another port",
  "a sandboxed frame",
  "a rebound name",
]);

const originsFor = (
  technique: string,
  origins: readonly AttackOrigin[],
): readonly AttackOrigin[] =>
  technique.startsWith("form POST")
    ? origins.filter(({ name }) => FORM_ORIGINS.has(name))
    : origins;

/** Whether one of the origins sends a request; both are also identified by their index. */
export type RequestSelector = (
  request: AttackRequest,
  requestIndex: number,
  originIndex: number,
  originCount: number,
) => boolean;

export interface AttackOutcome {
  /** How many requests arrived. */
  readonly arrived: number;
  /** What was changed or read. */
  readonly violations: readonly string[];
}

/** `timeFactor` multiplies the time limits of the technique. */
export async function attack(
  technique: string,
  site: DemoSite,
  allOrigins: readonly AttackOrigin[],
  isSelected: RequestSelector,
  timeFactor = 1,
): Promise<AttackOutcome> {
  const origins = originsFor(technique, allOrigins);
  const outcome = await sendAll(technique, site, origins, isSelected, timeFactor);
  if (outcome.violations.length === 0) return outcome;
  // Send from one origin at a time, to find the one that got through.
  const violations = [...outcome.violations];
  for (const [index, origin] of origins.entries()) {
    const isSelectedHere: RequestSelector = (request, at) =>
      isSelected(request, at, index, origins.length);
    const single = await sendAll(technique, site, [origin], isSelectedHere, timeFactor);
    violations.push(...single.violations.map((violation) => `from ${origin.name}: ${violation}`));
  }
  return { ...outcome, violations };
}

/** Sends from all origins at once, and returns what was changed or read. */
async function sendAll(
  technique: string,
  site: DemoSite,
  origins: readonly AttackOrigin[],
  isSelected: RequestSelector,
  timeFactor: number,
): Promise<AttackOutcome> {
  const routeRequests = routeRequestsFor(site);
  // Renew the slots: one that ends meanwhile would count as a change.
  await site.occupy();
  const before = await site.readCounters();
  const leaks = await Promise.all(
    origins.map(async (origin, originIndex) => {
      const requests = attackRequestsAt(origin.targetUrl, routeRequests).filter(
        (request, requestIndex) => isSelected(request, requestIndex, originIndex, origins.length),
      );
      const texts = await origin.send(technique, requests, timeFactor);
      return texts
        .filter((text) => isLeak(origin, text))
        .map((text) => `read ${text.slice(0, 200)}`);
    }),
  );
  const after = await site.waitUntilIdle();
  return {
    arrived: after.arrived - before.arrived - after.statusCalls,
    violations: [...site.changesSince(before.seq), ...leaks.flat()],
  };
}

/** Only a rebound origin may read an answer, and only a refusal. */
const isLeak = (origin: AttackOrigin, text: string): boolean =>
  !origin.isRebound || !/"code":"(?:wrong_host|cross_site|method_not_allowed)"/.test(text);
