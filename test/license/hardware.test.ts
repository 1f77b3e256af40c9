import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  COMPONENT_KINDS,
  hashComponents,
  computeHardwareId,
  isWeakBinding,
  matchHardware,
  type HardwareComponent,
  type ComponentKind,
} from "../../src/license/hardware.ts";

const KEY = new Uint8Array(32).fill(7);
const OTHER_KEY = new Uint8Array(32).fill(8);

const part = (kind: ComponentKind, value: string): HardwareComponent => ({ kind, value });

const MACHINE = [
  part("machine_id", "3d1219c7c4c5404aaa1f6d2a48adfda4"),
  part("product_uuid", "b0a1c2d3-1111-4222-8333-944455556666"),
  part("board_serial", "pf3xk21q"),
  part("root_disk", "s5gxng0r401234"),
  part("mac", "3c:ec:ef:12:34:56"),
];

/** The first `kept` of `of` components as they were, the others replaced. */
const worn = (kept: number, of: number): HardwareComponent[] =>
  MACHINE.slice(0, of).map(({ kind, value }, i) => part(kind, i < kept ? value : `new ${value}`));

const bound = (count: number) => hashComponents(MACHINE.slice(0, count), KEY);

describe("a machine that lost parts", () => {
  test.each([
    { kept: 5, of: 5, needed: 3, ok: true },
    { kept: 3, of: 5, needed: 3, ok: true },
    { kept: 2, of: 5, needed: 3, ok: false },
    { kept: 3, of: 4, needed: 3, ok: true },
    { kept: 2, of: 4, needed: 3, ok: false },
    { kept: 2, of: 3, needed: 2, ok: true },
    { kept: 1, of: 3, needed: 2, ok: false },
    { kept: 2, of: 2, needed: 2, ok: true },
    { kept: 1, of: 2, needed: 2, ok: false },
    { kept: 1, of: 1, needed: 1, ok: true },
    { kept: 0, of: 1, needed: 1, ok: false },
  ])("and still has $kept of $of: ok is $ok", ({ kept, of, needed, ok }) => {
    const found = matchHardware(bound(of), worn(kept, of), KEY);
    expect(found).toMatchObject({ matching: kept, needed, ok });
    expect(found.missingKinds.toSorted()).toEqual(
      MACHINE.slice(kept, of)
        .map(({ kind }) => kind)
        .toSorted(),
    );
  });

  test("a replaced network card is shown and is no outage", () => {
    const live = [...MACHINE.slice(0, 4), part("mac", "3c:ec:ef:99:99:99")];
    expect(matchHardware(bound(5), live, KEY)).toEqual({
      matchingCount: 4,
      requiredCount: 3,
      missingKinds: ["mac"],
      isMatch: true,
    });
  });

  test("needs exactly three in five rounded up, however long the list", () => {
    for (let n = 1; n <= 200; n += 1) {
      const parts = Array.from({ length: n }, (_, i) => part("mac", `card ${i}`));
      const { requiredCount } = matchHardware(hashComponents(parts, KEY), parts, KEY);
      expect(requiredCount * 5 >= n * 3 && (requiredCount - 1) * 5 < n * 3).toBe(true);
    }
  });

  test("nothing frozen matches no machine, and nothing live matches no list", () => {
    expect(matchHardware([], MACHINE, KEY)).toEqual({
      matchingCount: 0,
      requiredCount: 0,
      missingKinds: [],
      isMatch: false,
    });
    expect(matchHardware([], [], KEY).isMatch).toBe(false);
    expect(matchHardware(bound(5), [], KEY)).toMatchObject({ matching: 0, ok: false });
  });

  test("parts it gained since do not count against it", () => {
    const live = [...MACHINE, part("mac", "3c:ec:ef:77:77:77"), part("root_disk", "wd-1")];
    expect(matchHardware(bound(5), live, KEY)).toMatchObject({
      matching: 5,
      drifted: [],
      ok: true,
    });
  });

  test("a value under another kind is another part", () => {
    const live = [part("board_serial", "s5gxng0r401234")];
    expect(
      matchHardware(hashComponents([part("root_disk", "s5gxng0r401234")], KEY), live, KEY).isMatch,
    ).toBe(false);
  });
});

describe("several parts of one kind", () => {
  const cards = ["a1", "b2", "c3"].map((value) => part("mac", value));

  test("count one by one", () => {
    expect(matchHardware(hashComponents(cards, KEY), cards.slice(0, 2), KEY)).toEqual({
      matchingCount: 2,
      requiredCount: 2,
      missingKinds: ["mac"],
      isMatch: true,
    });
    expect(matchHardware(hashComponents(cards, KEY), cards.slice(0, 1), KEY)).toMatchObject({
      drifted: ["mac", "mac"],
      ok: false,
    });
  });

  test("one found twice counts once, frozen or live", () => {
    const [card = part("mac", ""), second = part("mac", "")] = cards;
    expect(hashComponents([card, card], KEY)).toEqual(hashComponents([card], KEY));
    const [frozen, other] = [hashComponents([card], KEY), hashComponents([second], KEY)];
    const padded = [...frozen, ...frozen, ...frozen, ...other];
    expect(matchHardware(padded, [card, card], KEY)).toMatchObject({
      matching: 1,
      needed: 2,
      ok: false,
    });
    expect(isWeakBinding([...frozen, ...frozen])).toBe(true);
    expect(computeHardwareId([...frozen, ...frozen])).not.toBe(computeHardwareId(frozen));
  });
});

describe("what is frozen", () => {
  test("is other digests under another appliance's key, and no match there", () => {
    const [ours, theirs] = [hashComponents(MACHINE, KEY), hashComponents(MACHINE, OTHER_KEY)];
    const digests = new Set([...ours, ...theirs].map(({ digest }) => digest));
    expect(digests.size).toBe(10);
    expect(computeHardwareId(ours)).not.toBe(computeHardwareId(theirs));
    expect(matchHardware(ours, MACHINE, OTHER_KEY)).toMatchObject({ matching: 0, ok: false });
  });

  test("is 64 lower-case hex digits each, and has no raw value in it", () => {
    const text = JSON.stringify(hashComponents(MACHINE, KEY));
    for (const { value } of MACHINE) expect(text.toLowerCase()).not.toContain(value);
    for (const { digest } of hashComponents(MACHINE, KEY)) expect(digest).toMatch(/^[\da-f]{64}$/);
  });

  test("has nothing blank in it", () => {
    expect(hashComponents([part("mac", ""), part("board_serial", " \n")], KEY)).toEqual([]);
  });

  // Recomputed once outside this code: these bytes are in signed licenses and cannot change.
  test("is pinned, and so is the id a license signs", () => {
    expect(hashComponents([part("mac", "3c:ec:ef:12:34:56")], KEY)).toEqual([
      { kind: "mac", digest: "42f09b768f5c1aeca4fab9107a8306b00884a6c6db1a0508e6ab6c7f6768bb9e" },
    ]);
    expect(computeHardwareId(hashComponents(MACHINE, KEY))).toBe(
      "5d43d50ae7827655a4ffff2887c40013829f68d670c1e7ab4e9f0b6100e9d1eb",
    );
  });
});

describe("the hardware id", () => {
  const frozen = hashComponents(MACHINE, KEY);

  test("changes with any digest or kind, and with any part more or less", () => {
    const [first = { kind: "mac", digest: "" }, ...rest] = frozen;
    const ids = [
      frozen,
      rest,
      [...rest, { ...first, kind: "named" as const }],
      [...rest, { ...first, digest: first.digest.replace(/^./, (c) => (c === "0" ? "1" : "0")) }],
      [],
    ].map(computeHardwareId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[\da-f]{64}$/);
  });

  test("does not run one part into the next", () => {
    const together = [{ kind: "mac" as const, digest: "aamacbb" }];
    const apart = ["aa", "bb"].map((digest) => ({ kind: "mac" as const, digest }));
    expect(computeHardwareId(together)).not.toBe(computeHardwareId(apart));
  });
});

test("a binding is weak below two parts, and with a named identity whatever else there is", () => {
  expect(isWeakBinding([])).toBe(true);
  expect(isWeakBinding(bound(1))).toBe(true);
  expect(isWeakBinding(bound(2))).toBe(false);
  expect(isWeakBinding(hashComponents([...MACHINE, part("named", "site-7")], KEY))).toBe(true);
});

const component = fc.record({
  kind: fc.constantFrom(...COMPONENT_KINDS),
  // Few values, so that parts repeat and match.
  value: fc.constantFrom("a", "b", "c", "constructor", "__proto__", ""),
});

test("the order in which parts are found never changes anything", () => {
  fc.assert(
    fc.property(
      fc.array(component, { maxLength: 8 }),
      fc
        .array(component, { maxLength: 8 })
        .chain((live) =>
          fc.tuple(fc.constant(live), fc.shuffledSubarray(live, { minLength: live.length })),
        ),
      (old, [live, shuffled]) => {
        const frozen = hashComponents(old, KEY);
        const found = matchHardware(frozen, live, KEY);
        expect(matchHardware(frozen, shuffled, KEY)).toEqual(found);
        expect(matchHardware(frozen.toReversed(), live, KEY)).toEqual(found);
        expect(hashComponents(shuffled, KEY)).toEqual(hashComponents(live, KEY));
        expect(computeHardwareId(frozen.toReversed())).toBe(computeHardwareId(frozen));
        expect(found.matchingCount + found.missingKinds.length).toBe(frozen.length);
      },
    ),
  );
});
