import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { encodeCode } from "../../../../src/license/codes/code.ts";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";

const QR = "/api/admin/v1/qr";

interface QrReply {
  readonly frames: readonly { readonly text: string; readonly svg: string }[];
}

const makeFrames = async (site: Appliance, text: string): Promise<string[]> =>
  expectOk(await site.post<QrReply>(QR, { text })).frames.map((frame) => frame.text);

const join = (site: Appliance, frames: readonly string[]) =>
  site.post<{ text: string }>(`${QR}/join`, { frames: frames.join("\n") });

/** Text that cannot be compressed and is the same in every run. */
const noise = (length: number, seed = "noise"): string =>
  createHash("shake256", { outputLength: length / 2 })
    .update(seed)
    .digest("hex");

const initialization = encodeCode(Buffer.from(noise(24), "hex"), 95);
const activation = encodeCode(Buffer.from(noise(42), "hex"), 165);

describe("a text for QR codes", () => {
  test.each([
    ["a code", initialization],
    ["a code of several rows", activation],
    ["a name in capital letters", "ABC-123"],
    ["a letter", "Grüße,\n\tund mehr \n"],
    ["a document", noise(3_000)],
    ["a text of 64 KiB", noise(64 * 1024)],
  ])("is joined to the same text again: %s", async (_what, text) => {
    const site = await openAppliance();
    const frames = await makeFrames(site, text);
    expect(expectOk(await join(site, frames))).toEqual({ text });
    const mixed = [...frames.toReversed(), frames[0] ?? ""].map((frame) => `  ${frame}\r`);
    if (frames[0]?.startsWith("BERTH")) expect(expectOk(await join(site, mixed))).toEqual({ text });
  });

  test("of several rows is joined from lines that end in CR LF", async () => {
    const site = await openAppliance();
    const rows = activation.split("\n").map((row) => `${row}\r`);
    expect(expectOk(await join(site, [...rows, ""])).text).toBe(activation);
  });

  test("is drawn as one SVG for each code", async () => {
    const site = await openAppliance();
    const { frames } = expectOk(await site.post<QrReply>(QR, { text: noise(3_000) }));
    expect(frames.length).toBeGreaterThan(1);
    for (const { svg } of frames) expect(svg).toMatch(/^<svg [^>]+>.*<path [^>]+><\/svg>$/);
  });

  test("yields to other requests after each code, also with eight calls at once", async () => {
    const site = await openAppliance();
    const text = noise(8_000);
    let turns = 0;
    let isDrawn = false;
    // Counts turns of the event loop, since their duration depends on the load of the machine.
    const countTurn = (): void => {
      turns += 1;
      if (!isDrawn) setImmediate(countTurn);
    };
    setImmediate(countTurn);
    const drawing = Promise.all(Array.from({ length: 8 }, () => makeFrames(site, text)));
    const codes = (await drawing).flat().length;
    isDrawn = true;
    expect(codes).toBeGreaterThan(40);
    expect(turns).toBeGreaterThan(codes / 2);
  });

  test("is refused when it is too long, missing or has invalid characters", async () => {
    const site = await openAppliance();
    const tooLong = await site.post(QR, { text: "ä".repeat(32 * 1024 + 1) });
    expect(expectRefusal(tooLong, 400, "too_long")).toContain("65536");
    expectRefusal(await site.post(QR, {}), 400, "missing_parameters");
    expectRefusal(await site.post(QR, { text: "\ud800" }), 400, "invalid_characters");
    expectRefusal(await join(site, ["", " "]), 400, "missing_parameters");
  });
});

describe("joining QR codes is refused when", () => {
  const cases: readonly [string, (frames: string[]) => string[], string][] = [
    ["one is missing", (frames) => frames.toSpliced(1, 1), "code 2 of 4 is missing"],
    ["two are missing", (frames) => frames.slice(2), "codes 1, 2 of 4 are missing"],
    [
      "one was cut",
      (frames) => frames.with(2, cut(frames[2] ?? "")),
      "code 3 of 4 is incomplete: 9 ",
    ],
    ["one is not a code of Berth", (frames) => [...frames, "https://example.com"], "code 5"],
    ["one was misread", (frames) => frames.map(misread), "code 1 of 4 is incomplete or misread"],
  ];

  /** The rest ends like a complete frame, so only its length shows that it was cut. */
  const cut = (frame: string): string => `${frame.slice(0, -10)}/`;
  const misread = (frame: string): string =>
    frame.replace(/(.)\/$/, (_, last) => (last === "A" ? "B/" : "A/"));

  test.each(cases)("%s, and the message names it", async (_what, change, expected) => {
    const site = await openAppliance();
    const frames = await makeFrames(site, noise(4_000));
    expect(frames).toHaveLength(4);
    const reply = await join(site, change(frames));
    expect(expectRefusal(reply, 400, "invalid_qr_frames")).toContain(expected);
  });

  test("they belong to two texts", async () => {
    const site = await openAppliance();
    const frames = [
      ...(await makeFrames(site, noise(400, "one text"))),
      ...(await makeFrames(site, noise(400, "another text"))),
    ];
    const message = expectRefusal(await join(site, frames), 400, "invalid_qr_frames");
    expect(message).toContain("more than one text");
  });
});
