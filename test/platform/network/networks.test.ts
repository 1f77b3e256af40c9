import { describe, expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import {
  isLoopback,
  createNetworkMatcher,
  normalizeAddress,
  createSiteNetworkMatcher,
} from "../../../src/platform/network/networks.ts";

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::ffff:127.0.0.1", "127.0.0.1"],
  ["::FFFF:10.0.0.1", "10.0.0.1"],
  ["::1", "::1"],
  ["FE80::1", "fe80::1"],
  ["fe80::1%eth0", "fe80::1"],
  ["2001:DB8::1", "2001:db8::1"],
  ["", null],
  ["localhost", null],
  ["127.0.0.1:80", null],
  ["127.1", null],
  ["0x7f.0.0.1", null],
  ["::ffff:127.0.0.1.evil", null],
  ["::ffff:256.0.0.1", null],
  ["127.0.0.1, 10.0.0.1", null],
])("normalizeAddress(%j) is %j", (address, normal) => {
  expect(normalizeAddress(address)).toBe(normal);
});

test.each([
  ["127.0.0.1", true],
  ["127.255.255.254", true],
  ["::1", true],
  ["128.0.0.1", false],
  ["126.255.255.255", false],
  ["10.0.0.1", false],
  ["::2", false],
  ["127.evil.example", false],
  ["127.", false],
  ["", false],
])("isLoopback(%j) is %p", (address, isInLoopback) => {
  expect(isLoopback(address)).toBe(isInLoopback);
});

describe("a network matcher", () => {
  const matches = createNetworkMatcher(["10.1.0.0/16", "192.0.2.7", "fd00:1::/32"]);

  test.each([
    ["10.1.0.0", true],
    ["10.1.255.255", true],
    ["10.0.255.255", false],
    ["10.2.0.0", false],
    ["192.0.2.7", true],
    ["192.0.2.8", false],
    ["fd00:1::1", true],
    ["fd00:1:ffff::1", true],
    ["fd00:2::1", false],
    ["127.0.0.1", false],
    ["::1", false],
    ["socket", false],
    ["unknown", false],
  ])("for %s returns %p", (address, isInside) => {
    expect(matches(address)).toBe(isInside);
  });

  test.each([
    [["::/0"], [false, true]],
    [["0.0.0.0/0"], [true, false]],
    [["::ffff:0:0/96"], [true, false]],
    [["::ffff:10.0.0.0/104"], [true, false]],
    [
      ["10.0.0.0/8", "fd00::/8"],
      [true, true],
    ],
  ])("of %j finds [an IPv4 address, an IPv6 address]: %j", (networks, expected) => {
    expect(["10.1.2.3", "fd00::1"].map(createNetworkMatcher(networks))).toEqual(expected);
  });

  test("ignores the host bits of a network", () => {
    expect(createNetworkMatcher(["10.1.2.3/8"])("10.9.9.9")).toBe(true);
  });

  test("without networks matches nothing", () => {
    expect(createNetworkMatcher([])("127.0.0.1")).toBe(false);
  });

  test.each(["10.0.0.0/99", "fe80::1%eth0/64"])("is not created for %s", (network) => {
    expect(() => createNetworkMatcher([network])).toThrow("not a network");
  });
});

describe("the default site networks", () => {
  const isClient = createSiteNetworkMatcher();

  test.each(
    "127.0.0.1 10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.1 169.254.9.9 ::1 fc00::1 fdff::1 fe80::1 febf::1".split(
      " ",
    ),
  )("include %s", (address) => {
    expect(isClient(address)).toBe(true);
  });

  test.each(
    "9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 169.253.0.1 203.0.113.1 0.0.0.0 :: ::2 fec0::1 2001:db8::1 fbff::1".split(
      " ",
    ),
  )("do not include %s", (address) => {
    expect(isClient(address)).toBe(false);
  });

  test("include every address of this machine", () => {
    for (const { address } of Object.values(networkInterfaces()).flatMap((all) => all ?? [])) {
      expect([address, isClient(normalizeAddress(address) ?? "")]).toEqual([address, true]);
    }
  });

  test("keep the last subnets of this machine while the system cannot list them", () => {
    let [now, cidr] = [0, "203.0.113.7/24" as string | null];
    const listInterfaces = () => {
      if (cidr === null) throw new Error("EMFILE: too many open files");
      const family = "IPv4" as const;
      const netmask = "255.255.255.0";
      return { eth0: [{ address: "", netmask, mac: "", internal: false, family, cidr }] };
    };
    const isSite = createSiteNetworkMatcher(listInterfaces, () => now);
    expect([isSite("203.0.113.9"), isSite("10.0.0.1")]).toEqual([true, true]);
    [now, cidr] = [30_000, null];
    expect([isSite("203.0.113.9"), isSite("10.0.0.1")]).toEqual([true, true]);
    [now, cidr] = [60_000, "198.51.100.7/24"];
    expect([isSite("203.0.113.9"), isSite("198.51.100.9")]).toEqual([false, true]);
  });
});
