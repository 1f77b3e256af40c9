import { describe, expect, test } from "bun:test";
import { heapStats } from "bun:jsc";
import * as fc from "fast-check";
import { GroupMatcher } from "../../../../src/domain/model/rules/membership.ts";
import type { CallerFacts } from "../../../../src/domain/model/rules/caller-facts.ts";
import type { Group } from "../../../../src/domain/model/rules/rule-set.ts";
import { isMember } from "../../../sharing/membership.ts";
import { group } from "../../../support/rule-sets.ts";

const caller = (facts: Partial<CallerFacts>): CallerFacts => ({
  user: "",
  host: "",
  address: "",
  login: null,
  certificate: null,
  ...facts,
});

const groupsOf = (groups: readonly Group[], facts: Partial<CallerFacts>): string[] =>
  [...new GroupMatcher(groups).groupsOf(caller(facts))].toSorted();

describe("a group", () => {
  test("by user names contains the person, whatever follows the first #", () => {
    const groups = [group("sim", { users: ["ada"] })];
    expect(groupsOf(groups, { user: "ada#ws-17.4711" })).toEqual(["sim"]);
    expect(groupsOf(groups, { user: "#ada" })).toEqual([]);
    expect(groupsOf(groups, { user: "ada2" })).toEqual([]);
  });

  test("with * at the end of a name contains all names that begin so", () => {
    const groups = [group("sim", { users: ["grace*"] })];
    expect(groupsOf(groups, { user: "grace" })).toEqual(["sim"]);
    expect(groupsOf(groups, { user: "grace.hopper" })).toEqual(["sim"]);
    expect(groupsOf(groups, { user: "grac" })).toEqual([]);
  });

  test("with * alone contains every known name, but not a host that was not sent", () => {
    const groups = [group("hosts", { hosts: ["*"] }), group("logins", { logins: ["*"] })];
    expect(groupsOf(groups, { host: "ws-1" })).toEqual(["hosts"]);
    expect(groupsOf(groups, { host: "" })).toEqual([]);
    expect(groupsOf(groups, { login: "ada" })).toEqual(["logins"]);
  });

  test("compares the case, unless it ignores it", () => {
    const exact = group("exact", { users: ["Ada"], hosts: ["WS-*"] });
    const folded = group("folded", { users: ["Ada"], hosts: ["WS-*"], ignoreCase: true });
    expect(groupsOf([exact, folded], { user: "Ada" })).toEqual(["exact", "folded"]);
    expect(groupsOf([exact, folded], { user: "ADA" })).toEqual(["folded"]);
    expect(groupsOf([exact, folded], { host: "ws-9" })).toEqual(["folded"]);
  });

  test("never takes a claimed name for an observed one", () => {
    const groups = [group("observed", { logins: ["ada"], certificates: ["ada"] })];
    expect(groupsOf(groups, { user: "ada", host: "ada" })).toEqual([]);
    expect(groupsOf(groups, { certificate: "ada" })).toEqual(["observed"]);
  });

  test("by a network contains the first and the last address of it, and no other", () => {
    const groups = [group("lab", { networks: ["10.1.4.0/24", "fd00:1::/64"] })];
    expect(groupsOf(groups, { address: "10.1.4.0" })).toEqual(["lab"]);
    expect(groupsOf(groups, { address: "10.1.4.255" })).toEqual(["lab"]);
    expect(groupsOf(groups, { address: "::ffff:10.1.4.9" })).toEqual(["lab"]);
    expect(groupsOf(groups, { address: "10.1.5.0" })).toEqual([]);
    expect(groupsOf(groups, { address: "10.1.3.255" })).toEqual([]);
    expect(groupsOf(groups, { address: "fd00:1::9" })).toEqual(["lab"]);
    expect(groupsOf(groups, { address: "fd00:1:0:1::9" })).toEqual([]);
    expect(groupsOf(groups, { address: "socket" })).toEqual([]);
  });
});

test("the matcher takes a caller that differs from the last one in a single fact for another", () => {
  const facts = { user: "ada", host: "ws-1", address: "10.1.4.9", login: "ada", certificate: "ws" };
  const other = { user: "eve", host: "ws-2", address: "10.9.9.9", login: null, certificate: null };
  const groups = [
    group("user", { users: ["ada"] }),
    group("host", { hosts: ["ws-1"] }),
    group("address", { networks: ["10.1.4.0/24"] }),
    group("login", { logins: ["ada"] }),
    group("certificate", { certificates: ["ws"] }),
  ];
  const matcher = new GroupMatcher(groups);
  for (const { name } of groups) {
    expect(matcher.groupsOf(facts).has(name)).toBe(true);
    const differing = { ...facts, [name]: other[name as keyof typeof other] };
    expect(matcher.groupsOf(differing).has(name)).toBe(false);
  }
});

test("the matcher finds the groups that a scan of all patterns finds", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "B", "b", "-"), maxLength: 4 });
  const pattern = fc
    .tuple(letters, fc.boolean())
    .map(([text, isOpen]) => text + (isOpen ? "*" : ""));
  const octet = fc.constantFrom(0, 1, 128, 255);
  const ipv4 = fc.tuple(octet, octet, octet, octet).map((parts) => parts.join("."));
  const address = fc.oneof(
    ipv4,
    ipv4.map((text) => `::ffff:${text}`),
    fc.constantFrom("fd00::1", "fd00:0:0:1::", "::", "socket", ""),
  );
  const network = fc.oneof(
    fc.tuple(ipv4, fc.integer({ min: 0, max: 32 })).map(([text, bits]) => `${text}/${bits}`),
    fc.constantFrom("fd00::/16", "fd00::/63", "::/0", "10.0.0.1"),
  );
  const groups = fc.uniqueArray(
    fc.record({
      name: fc.constantFrom("a", "b", "c", "constructor", "__proto__"),
      users: fc.array(pattern, { maxLength: 3 }),
      hosts: fc.array(pattern, { maxLength: 2 }),
      logins: fc.array(pattern, { maxLength: 2 }),
      certificates: fc.array(pattern, { maxLength: 2 }),
      networks: fc.array(network, { maxLength: 2 }),
      ignoreCase: fc.boolean(),
    }),
    { selector: ({ name }) => name },
  );
  const facts = fc.record({
    user: fc.oneof(
      letters,
      letters.map((text) => `${text}#1`),
    ),
    host: letters,
    address,
    login: fc.option(letters),
    certificate: fc.option(letters),
  });
  fc.assert(
    fc.property(groups, fc.array(facts, { minLength: 1, maxLength: 5 }), (all, callers) => {
      const matcher = new GroupMatcher(all);
      for (const each of callers) {
        const scanned = all.filter((one) => isMember(one, each)).map(({ name }) => name);
        expect([...matcher.groupsOf(each)].toSorted()).toEqual(scanned.toSorted());
      }
    }),
    { numRuns: 1_000 },
  );
});

test("the matcher remembers a few megabytes, also if every caller is in 1,000 groups", () => {
  const everybody = { users: ["*"], hosts: ["*"], logins: ["*"] };
  const groups = Array.from({ length: 1_000 }, (_, index) => group(`g-${index}`, everybody));
  const matcher = new GroupMatcher(groups);
  const measure = (): number => {
    Bun.gc(true);
    return heapStats().heapSize;
  };
  const before = measure();
  for (let index = 0; index < 2_000; index += 1) {
    const name = `name-${index}`;
    expect(matcher.groupsOf(caller({ user: name, host: name, login: name })).size).toBe(1_000);
  }
  expect(measure() - before).toBeLessThan(40_000_000);
  expect(matcher.groupsOf(caller({ user: "ada" })).size).toBe(1_000);
});
