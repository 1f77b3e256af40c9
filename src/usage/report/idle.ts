import { DAY, latest, type Instant } from "../../domain/time.ts";
import type { SiteRecord } from "../site-record.ts";
import type { Names } from "./names.ts";
import type { Holder, IdleHolder } from "./report.ts";

/**
 * Who holds a slot now without using it: only heartbeats, no consumption and no feature taken for
 * so many days. A borrowed slot counts too: it is held, although it sends no heartbeats.
 */
export function findIdleHolders(
  { to: now, sessions, consumptions }: Pick<SiteRecord, "to" | "sessions" | "consumptions">,
  holders: readonly Holder[],
  idleDays: number,
  names: Names,
): IdleHolder[] {
  const candidates = holders.filter(({ registeredAt }) => now - registeredAt >= idleDays * DAY);
  if (candidates.length === 0) return [];
  const lastUses = new Map<string, Instant>();
  const use = (license: number, user: string, at: Instant): void => {
    const key = keyOf(license, user);
    lastUses.set(key, latest(lastUses.get(key) ?? at, at));
  };
  for (const { license, user, at } of consumptions) if (user !== null) use(license, user, at);
  for (const { license, user, feature, start, end } of sessions) {
    // A feature that is held was taken at least at its start, and is in use.
    if (feature !== null && (start !== null || end === null)) use(license, user, end ?? now);
  }
  return candidates
    .flatMap((holder): IdleHolder[] => {
      const { license, user, product, host, peer, registeredAt, lastSeenAt } = holder;
      const lastUse = lastUses.get(keyOf(license, user)) ?? null;
      const lastUseAt = lastUse !== null && lastUse >= registeredAt ? lastUse : null;
      const unusedSince = lastUseAt ?? registeredAt;
      const unusedDays = Math.floor((now - unusedSince) / DAY);
      if (unusedDays < idleDays) return [];
      return [
        {
          person: names.person(user),
          user: names.user(user),
          product,
          license,
          host: names.host(host),
          peer: names.address(peer),
          heldSince: registeredAt,
          lastSeenAt,
          lastUseAt,
          idleDays: unusedDays,
          borrowedUntil: holder.borrowedUntil,
        },
      ];
    })
    .toSorted((a, b) => b.idleDays - a.idleDays || a.heldSince - b.heldSince);
}

const keyOf = (license: number, user: string): string => `${license} ${user}`;
