import { describe, expect, test } from "bun:test";
import { parseNetwork } from "../../../src/domain/model/rules/network.ts";
import { toNetwork } from "../../../src/rules/flexnet/address-pattern.ts";

describe("an address of an options file", () => {
  const networks: readonly (readonly [pattern: string, network: string])[] = [
    ["10.1.4.9", "10.1.4.9/32"],
    ["10.1.*.*", "10.1.0.0/16"],
    ["10.1.*", "10.1.0.0/16"],
    ["*.*.*.*", "0.0.0.0/0"],
    ["FD00::1", "fd00::1/128"],
    ["1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8/128"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7::/128"],
    ["FD00:1:*:*:*:*:*:*", "fd00:1::/32"],
  ];
  test.each(networks)("%s is the network %s, which rules can have", (pattern, network) => {
    expect(toNetwork(pattern)).toBe(network);
    expect(parseNetwork(network)).not.toBeNull();
  });

  const others = [
    "10.1.4",
    "10.1.4.256",
    "10.1.04.9",
    "10.*.4.9",
    "10.1.4.9.*",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4::5:6:7:8",
    "1::2::3",
    "fd00::*",
    "fd00:*:1:*:*:*:*:*",
    "fd00:12345::",
  ];
  test.each(others)("%s is no network", (pattern) => {
    expect(toNetwork(pattern)).toBeNull();
  });
});
