import { describe, expect, test } from "bun:test";
import { messageOf } from "../../../src/faults/catalog.ts";
import { openHost, openPairOfTwo } from "../../support/licensed-pair.ts";
import { unwrap } from "../../support/licensed-store.ts";

describe("the end of a pair without its log", () => {
  test("names the host by its machine, not by a wrong setting", async () => {
    const { alpha } = await openPairOfTwo();
    await alpha.stop();
    const alone = await openHost({ host: "alpha", folder: alpha.folder });
    const { pairMembership } = alone.operations;
    expect(unwrap(await pairMembership.leave("test", "wrong"))).toEqual({ host: "alpha" });
  });

  test("takes the name from the settings on a machine that the pair does not know", async () => {
    const { alpha } = await openPairOfTwo();
    await alpha.stop();
    const alone = await openHost({ host: "gamma", folder: alpha.folder });
    const { pairMembership } = alone.operations;
    expect(unwrap(await pairMembership.leave("test", "gamma"))).toEqual({ host: "gamma" });
  });
});

describe("the message of a host on standby", () => {
  test("says where the leader is, its name, or that none is known", () => {
    const code = "standby";
    expect(messageOf({ code, leader: "beta", url: "http://b" })).toContain("http://b");
    expect(messageOf({ code, leader: "beta" })).toContain("host beta of the pair answers");
    expect(messageOf({ code })).toContain("no host of the pair is known to lead");
  });
});
