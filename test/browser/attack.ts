// Fires one way from all places at a site, and tells what came of it.
import { check } from "../support/suite-harness.ts";
import { routeRequestsFor, attackRequestsAt, type AttackRequest } from "./route-requests.ts";
import type { AttackOrigin } from "./attack-origins.ts";
import type { DemoSite } from "./demo-site.ts";

/** A frame for each of all the POST routes takes time: these are sent from one place of a kind. */
const FORM_ORIGINS = new Set([
  "another site, silent",
  "another port",
  "a sandboxed frame",
  "a name that leads here",
]);

const originsFor = (way: string, places: readonly AttackOrigin[]): readonly AttackOrigin[] =>
  way.startsWith("form POST") ? places.filter(({ name }) => FORM_ORIGINS.has(name)) : places;

/** Is this one sent from that place? Both by their number, too. */
export type RequestSelector = (shot: AttackRequest, at: number, place: number) => boolean;

/** How many requests arrived. The pace is how many times as long a way is given as usual. */
export async function attack(
  promise: string,
  way: string,
  site: DemoSite,
  from: readonly AttackOrigin[],
  isMeant: RequestSelector,
  pace = 1,
): Promise<number> {
  const places = originsFor(way, from);
  const { arrived, broken } = await sendAll(way, site, places, isMeant, pace);
  if (broken.length > 0 && places.length > 1) {
    // Which one was it? One after the other tells.
    for (const [number, place] of places.entries()) {
      const isMeantHere: RequestSelector = (shot, at) => isMeant(shot, at, number);
      await attack(`${promise}, ${place.name}`, way, site, [place], isMeantHere, pace);
    }
    return arrived;
  }
  check(`${promise}: ${arrived} requests`, broken.length === 0, broken);
  return arrived;
}

/** All places at once; what was changed or read. */
async function sendAll(
  way: string,
  site: DemoSite,
  places: readonly AttackOrigin[],
  isMeant: RequestSelector,
  pace: number,
): Promise<{ readonly arrived: number; readonly broken: string[] }> {
  const acts = routeRequestsFor(site);
  // A slot that ran out meanwhile would be a change, too.
  await site.occupy();
  const before = await site.readCounters();
  const heard = await Promise.all(
    places.map(async (place, number) =>
      (
        await place.fire(
          way,
          attackRequestsAt(place.targetUrl, acts).filter((shot, at) => isMeant(shot, at, number)),
          pace,
        )
      )
        .filter((text) => isLeak(place, text))
        .map((text) => `read ${text.slice(0, 200)}`),
    ),
  );
  const after = await site.waitUntilIdle();
  const changes = after.seq === before.seq ? [] : site.changesSince(before.seq);
  return {
    arrived: after.arrived - before.arrived - after.statusCalls,
    broken: [...changes, ...heard.flat()],
  };
}

/** A refusal is all that may be read, and only where the browser takes the page for Berth's own. */
const isLeak = (place: AttackOrigin, text: string): boolean =>
  !place.isRebound || !/"code":"(?:wrong_host|cross_site|method_not_allowed)"/.test(text);
