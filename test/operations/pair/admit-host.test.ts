import { describe, expect, test } from "bun:test";
import { generateExchangeKey } from "../../../src/license/pair-admission.ts";
import { formatPairRequest, type PairRequest } from "../../../src/license/requests/pair-request.ts";
import { version } from "../../../src/platform/embedded/version.ts";
import { machine, openPairOfTwo } from "../../support/licensed-pair.ts";

const { x: PUBLIC_KEY } = await generateExchangeKey();

const makeRequest = (members: Partial<PairRequest> = {}): string =>
  formatPairRequest({
    berth_pair_request: 1,
    host: "beta",
    version,
    made_at: 1,
    public_key: PUBLIC_KEY,
    hardware: machine("other"),
    ...members,
  });

describe("the admission of a host", () => {
  test.each<[string, Partial<PairRequest>]>([
    ["a key to which nothing can be encrypted", { public_key: "A".repeat(43) }],
    ["a time that no date can show", { made_at: 1e300 }],
    ["a name with an escape sequence", { host: "beta\u001b[2J" }],
  ])("is refused, and changes nothing, if its request has %s", async (_name, members) => {
    const { alpha } = await openPairOfTwo();
    const { pairMembership } = alpha.operations;
    const before = alpha.store.status().seq;
    expect(await pairMembership.admit(makeRequest(members), "test")).toEqual({
      ok: false,
      fault: { code: "invalid_pair_request" },
    });
    expect(alpha.store.status().seq).toBe(before);
    expect((await pairMembership.admit(makeRequest(), "test")).ok).toBe(true);
  });

  test("is refused for a copy of the machine that admits, and not for one with a shared part", async () => {
    const { alpha } = await openPairOfTwo();
    const admit = (hardware: PairRequest["hardware"]) =>
      alpha.operations.pairMembership.admit(makeRequest({ hardware }), "test");
    const [first, ...others] = machine("alpha");
    if (first === undefined) throw new Error("the machine has no components");
    const [, ...changed] = machine("other");
    expect(await admit(machine("alpha"))).toEqual({
      ok: false,
      fault: { code: "pair_same_machine", host: "beta" },
    });
    expect((await admit([{ ...first, value: "new" }, ...others])).ok).toBe(false);
    expect((await admit([first, ...changed])).ok).toBe(true);
  });
});
