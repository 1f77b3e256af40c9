import type { RulesCheckReply } from "../../http/routes/rules/rules-reply.ts";

type PoolPreview = NonNullable<RulesCheckReply["preview"]>[number];
type Denied = PoolPreview["denied"][number];
type OverLimit = PoolPreview["over_limit"][number];

const users = (count: number): string => (count === 1 ? "1 user" : `${count} users`);

const LIMIT_KINDS: Readonly<Record<string, string>> = {
  each_user: "person",
  each_host: "host",
  group: "group",
};

export const preview = {
  title: "What would change",
  about:
    "Compared with the rules in effect. Users keep the slots that they have: rules judge new slots only. Free for others: slots that a user without a reservation can get now.",
  noPools: "The rules concern no installed product.",
  noneAffected: "No user with a slot would be denied or above a limit, and no waiting user denied.",
  feature: (product: string, feature: string) => `${product}, feature ${feature}`,
  change: (before: string, after: string) => `${before} → ${after}`,
  ofAll: (used: string, all: string) => `${used} of ${all}`,
  facts: {
    inUse: "In use",
    reserved: "Reserved",
    available: "Free for others",
  },
  denied: (count: number) => `${users(count)} with a slot would get no new one: denied`,
  overLimit: (count: number) =>
    count === 1
      ? "1 person, host or group has more slots than its limit, and gets no new one"
      : `${count} persons, hosts or groups have more slots than their limit, and get no new one`,
  deniedWaiting: (count: number) => `${users(count)} would lose the place in the queue: denied`,
  deniedUser: ({ user, rule, group, line }: Denied) =>
    `${user}: ${rule === "deny" ? `denied as a member of ${group ?? "a group"}` : "in none of the allowed groups"} (line ${line})`,
  limited: ({ kind, name, slots_in_use, slots, line }: OverLimit) =>
    `${LIMIT_KINDS[kind] ?? kind} ${name}: ${slots_in_use} in use, at most ${slots} (line ${line})`,
  more: (count: string) => `and ${count} more`,
} as const;
