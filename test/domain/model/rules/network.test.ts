import { describe, expect, test } from "bun:test";
import { BlockList, isIP } from "node:net";
import * as fc from "fast-check";
import {
  clearHostBits,
  formatNetwork,
  isInNetwork,
  limitKeyOf,
  parseAddress,
  parseNetwork,
} from "../../../../src/domain/model/rules/network.ts";

const isIn = (address: string, network: string): boolean => {
  const [parsedAddress, parsedNetwork] = [parseAddress(address), parseNetwork(network)];
  if (parsedAddress === null || parsedNetwork === null) throw new Error("not an address");
  return isInNetwork(parsedAddress, parsedNetwork);
};

describe("isInNetwork", () => {
  test("finds the first and the last address of a network, and not its neighbors", () => {
    const addresses = ["10.1.3.255", "10.1.4.0", "10.1.4.255", "10.1.5.0"];
    expect(addresses.map((address) => isIn(address, "10.1.4.0/24"))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  test("treats a mapped address as an IPv4 address, on both sides", () => {
    expect(isIn("::ffff:10.1.4.9", "10.1.4.0/24")).toBe(true);
    expect(isIn("10.1.4.9", "::ffff:a01:400/120")).toBe(true);
  });

  test("does not find an IPv4 address in an IPv6 network", () => {
    expect(isIn("10.1.4.9", "::/0")).toBe(false);
  });

  test("agrees with the runtime's own matcher", () => {
    const bits = fc.integer({ min: 0, max: 32 });
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV4(), bits, (address, base, prefix) => {
        const list = new BlockList();
        list.addSubnet(base, prefix);
        expect(isIn(address, `${base}/${prefix}`)).toBe(list.check(address));
      }),
    );
  });
});

describe("parseNetwork", () => {
  test.each([
    "",
    "10.1.4",
    "10.1.4.0/",
    "10.1.4.0/33",
    "10.1.4.0/-1",
    "10.1.4.0/8.5",
    "10.1.4.0/0x8",
    "10.1.4.0/ 8",
    "10.1.4.0-10.1.4.9",
    " 10.1.4.0/24",
    "localhost",
    "10.01.4.0/24",
    "::/129",
    "1::2::3",
    "a/8",
    "10.0.0.0/8/8",
    ":::",
    "1:2:3:4:5:6:7:8:9",
    "::ffff:10.0.0.1/24",
    "fe80::1%eth0",
    "fe80::1%eth0/64",
  ])("refuses %p", (text) => {
    expect(parseNetwork(text)).toBeNull();
  });

  test("accepts an address exactly if the runtime does", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), (text) => {
        expect(parseAddress(text) !== null).toBe(isIP(text) !== 0 && !text.includes("%"));
      }),
    );
  });

  test("has one notation for each network", () => {
    const notations = ["10.1.4.9/24", "10.1.4.0/24", "::ffff:10.1.4.3/120"];
    const formatted = notations.map((text) => {
      const network = parseNetwork(text);
      return network && formatNetwork(clearHostBits(network));
    });
    expect(new Set(formatted)).toEqual(new Set(["10.1.4.0/24"]));
  });
});

describe("limits count", () => {
  test.each([
    [
      "the addresses of one IPv6 subnet",
      "2001:db8:1:2::1",
      "2001:db8:1:2:ffff:ffff:ffff:ffff",
      true,
    ],
    ["the addresses of two IPv6 subnets", "2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["two IPv4 addresses", "10.0.0.1", "10.0.0.2", false],
    ["two mapped IPv4 addresses", "::ffff:10.0.0.1", "::ffff:10.0.0.2", false],
    ["callers through the socket and without an address", "socket", "", false],
  ])("%s as one caller or two: %s and %s, one: %p", (_, first, second, isOne) => {
    expect(limitKeyOf(first) === limitKeyOf(second)).toBe(isOne);
  });
});
