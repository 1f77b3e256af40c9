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
} from "../../../src/license/documents/hardware.ts";

const KEY = new Uint8Array(32).fill(7);
const OTHER_KEY = new Uint8Array(32).fill(8);

const component = (kind: ComponentKind, value: string): HardwareComponent => ({ kind, value });

const MACHINE = [
  component("machine_id", "3d1219c7c4c5404aaa1f6d2a48adfda4"),
  component("product_uuid", "b0a1c2d3-1111-4222-8333-944455556666"),
  component("board_serial", "pf3xk21q"),
  component("root_disk", "s5gxng0r401234"),
  component("mac", "3c:ec:ef:12:34:56"),
];

/** Keeps the first `unchanged` of `total` components and replaces the others. */
const replaceAllBut = (unchanged: number, total: number): HardwareComponent[] =>
  MACHINE.slice(0, total).map(({ kind, value }, i) =>
    component(kind, i < unchanged ? value : `new ${value}`),
  );

const freeze = (count: number) => hashComponents(MACHINE.slice(0, count), KEY);

describe("matchHardware", () => {
  test.each([
    { unchanged: 5, total: 5, requiredCount: 3, isMatch: true },
    { unchanged: 3, total: 5, requiredCount: 3, isMatch: true },
    { unchanged: 2, total: 5, requiredCount: 3, isMatch: false },
    { unchanged: 3, total: 4, requiredCount: 3, isMatch: true },
    { unchanged: 2, total: 4, requiredCount: 3, isMatch: false },
    { unchanged: 2, total: 3, requiredCount: 2, isMatch: true },
    { unchanged: 1, total: 3, requiredCount: 2, isMatch: false },
    { unchanged: 2, total: 2, requiredCount: 2, isMatch: true },
    { unchanged: 1, total: 2, requiredCount: 2, isMatch: false },
    { unchanged: 1, total: 1, requiredCount: 1, isMatch: true },
    { unchanged: 0, total: 1, requiredCount: 1, isMatch: false },
  ])(
    "with $unchanged of $total components left: isMatch is $isMatch",
    ({ unchanged, total, requiredCount, isMatch }) => {
      const match = matchHardware(freeze(total), replaceAllBut(unchanged, total), KEY);
      expect(match).toMatchObject({ matchingCount: unchanged, requiredCount, isMatch });
      expect(match.missingKinds.toSorted()).toEqual(
        MACHINE.slice(unchanged, total)
          .map(({ kind }) => kind)
          .toSorted(),
      );
    },
  );

  test("accepts a machine with a replaced network card, and reports the card", () => {
    const live = [...MACHINE.slice(0, 4), component("mac", "3c:ec:ef:99:99:99")];
    expect(matchHardware(freeze(5), live, KEY)).toEqual({
      matchingCount: 4,
      requiredCount: 3,
      missingKinds: ["mac"],
      isMatch: true,
    });
  });

  test("requires three fifths of the components, rounded up, for any number of them", () => {
    for (let n = 1; n <= 200; n += 1) {
      const parts = Array.from({ length: n }, (_, i) => component("mac", `card ${i}`));
      const { requiredCount } = matchHardware(hashComponents(parts, KEY), parts, KEY);
      expect(requiredCount * 5 >= n * 3 && (requiredCount - 1) * 5 < n * 3).toBe(true);
    }
  });

  test("never matches without frozen components, nor without live ones", () => {
    expect(matchHardware([], MACHINE, KEY)).toEqual({
      matchingCount: 0,
      requiredCount: 0,
      missingKinds: [],
      isMatch: false,
    });
    expect(matchHardware([], [], KEY).isMatch).toBe(false);
    expect(matchHardware(freeze(5), [], KEY)).toMatchObject({ matchingCount: 0, isMatch: false });
  });

  test("ignores components that were added since", () => {
    const live = [
      ...MACHINE,
      component("mac", "3c:ec:ef:77:77:77"),
      component("root_disk", "wd-1"),
    ];
    expect(matchHardware(freeze(5), live, KEY)).toMatchObject({
      matchingCount: 5,
      missingKinds: [],
      isMatch: true,
    });
  });

  test("treats a value of another kind as another component", () => {
    const live = [component("board_serial", "s5gxng0r401234")];
    expect(
      matchHardware(hashComponents([component("root_disk", "s5gxng0r401234")], KEY), live, KEY)
        .isMatch,
    ).toBe(false);
  });
});

describe("several components of one kind", () => {
  const cards = ["a1", "b2", "c3"].map((value) => component("mac", value));

  test("are counted separately", () => {
    expect(matchHardware(hashComponents(cards, KEY), cards.slice(0, 2), KEY)).toEqual({
      matchingCount: 2,
      requiredCount: 2,
      missingKinds: ["mac"],
      isMatch: true,
    });
    expect(matchHardware(hashComponents(cards, KEY), cards.slice(0, 1), KEY)).toMatchObject({
      missingKinds: ["mac", "mac"],
      isMatch: false,
    });
  });

  test("are counted once if they have the same value, frozen or live", () => {
    const [card = component("mac", ""), second = component("mac", "")] = cards;
    expect(hashComponents([card, card], KEY)).toEqual(hashComponents([card], KEY));
    const [frozen, other] = [hashComponents([card], KEY), hashComponents([second], KEY)];
    const padded = [...frozen, ...frozen, ...frozen, ...other];
    expect(matchHardware(padded, [card, card], KEY)).toMatchObject({
      matchingCount: 1,
      requiredCount: 2,
      isMatch: false,
    });
    expect(isWeakBinding([...frozen, ...frozen])).toBe(true);
    expect(computeHardwareId([...frozen, ...frozen])).not.toBe(computeHardwareId(frozen));
  });
});

describe("hashComponents", () => {
  test("gives other digests for another appliance's key, which do not match", () => {
    const [first, second] = [hashComponents(MACHINE, KEY), hashComponents(MACHINE, OTHER_KEY)];
    const digests = new Set([...first, ...second].map(({ digest }) => digest));
    expect(digests.size).toBe(10);
    expect(computeHardwareId(first)).not.toBe(computeHardwareId(second));
    expect(matchHardware(first, MACHINE, OTHER_KEY)).toMatchObject({
      matchingCount: 0,
      isMatch: false,
    });
  });

  test("gives digests of 64 lower-case hex digits and no raw value", () => {
    const text = JSON.stringify(hashComponents(MACHINE, KEY));
    for (const { value } of MACHINE) expect(text.toLowerCase()).not.toContain(value);
    for (const { digest } of hashComponents(MACHINE, KEY)) expect(digest).toMatch(/^[\da-f]{64}$/);
  });

  test("leaves out blank values", () => {
    expect(hashComponents([component("mac", ""), component("board_serial", " \n")], KEY)).toEqual(
      [],
    );
  });

  // Computed independently of this code: these bytes are in signed licenses and must not change.
  test("and computeHardwareId give fixed values for a known machine", () => {
    expect(hashComponents([component("mac", "3c:ec:ef:12:34:56")], KEY)).toEqual([
      { kind: "mac", digest: "42f09b768f5c1aeca4fab9107a8306b00884a6c6db1a0508e6ab6c7f6768bb9e" },
    ]);
    expect(computeHardwareId(hashComponents(MACHINE, KEY))).toBe(
      "5d43d50ae7827655a4ffff2887c40013829f68d670c1e7ab4e9f0b6100e9d1eb",
    );
  });
});

describe("the hardware id", () => {
  const frozen = hashComponents(MACHINE, KEY);

  test("changes with any digest, kind or number of components", () => {
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

  test("separates components from each other", () => {
    const joined = [{ kind: "mac" as const, digest: "aamacbb" }];
    const separate = ["aa", "bb"].map((digest) => ({ kind: "mac" as const, digest }));
    expect(computeHardwareId(joined)).not.toBe(computeHardwareId(separate));
  });
});

test("isWeakBinding is true below two components, and with a configured name", () => {
  expect(isWeakBinding([])).toBe(true);
  expect(isWeakBinding(freeze(1))).toBe(true);
  expect(isWeakBinding(freeze(2))).toBe(false);
  expect(isWeakBinding(hashComponents([...MACHINE, component("named", "site-7")], KEY))).toBe(true);
});

const anyComponent = fc.record({
  kind: fc.constantFrom(...COMPONENT_KINDS),
  // Few values, so that components repeat and match.
  value: fc.constantFrom("a", "b", "c", "constructor", "__proto__", ""),
});

test("the order of components does not change any result", () => {
  fc.assert(
    fc.property(
      fc.array(anyComponent, { maxLength: 8 }),
      fc
        .array(anyComponent, { maxLength: 8 })
        .chain((live) =>
          fc.tuple(fc.constant(live), fc.shuffledSubarray(live, { minLength: live.length })),
        ),
      (old, [live, shuffled]) => {
        const frozen = hashComponents(old, KEY);
        const match = matchHardware(frozen, live, KEY);
        expect(matchHardware(frozen, shuffled, KEY)).toEqual(match);
        expect(matchHardware(frozen.toReversed(), live, KEY)).toEqual(match);
        expect(hashComponents(shuffled, KEY)).toEqual(hashComponents(live, KEY));
        expect(computeHardwareId(frozen.toReversed())).toBe(computeHardwareId(frozen));
        expect(match.matchingCount + match.missingKinds.length).toBe(frozen.length);
      },
    ),
  );
});
