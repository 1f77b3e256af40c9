import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CODE_BITS, encodeCode } from "../../../../src/license/codes/code.ts";
import { runBerth, runOrThrow, runJsonOrThrow } from "../../../support/run-berth.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

interface QrOutput {
  readonly frames: readonly { readonly text: string; readonly svg: string }[];
}

/** A text that takes several codes, in a file. */
function sampleText(): { folder: string; file: string; text: string } {
  const folder = tempFolder();
  const file = join(folder, "letter.txt");
  const text = Buffer.from(crypto.getRandomValues(new Uint8Array(1_500))).toString("hex");
  writeFileSync(file, `${text}\n`);
  return { folder, file, text };
}

test("berth qr join restores the text of berth qr, and refuses missing or merged codes", async () => {
  const { folder, file, text } = sampleText();
  const { frames } = await runJsonOrThrow<QrOutput>(["qr", file]);
  expect(frames.length).toBeGreaterThan(1);
  const read = join(folder, "read.txt");
  writeFileSync(
    read,
    frames
      .map((frame) => frame.text)
      .toReversed()
      .join("\r\n"),
  );
  expect(await runOrThrow(["qr", "join", read])).toBe(`${text}\n`);
  writeFileSync(read, frames[0]?.text ?? "");
  const { code, stdout, stderr } = await runBerth(["qr", "join", read]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(`of ${frames.length} `);
  expect(stderr).toContain("missing");
  writeFileSync(read, frames.map(({ text: frame }) => frame).join(""));
  const joined = await runBerth(["qr", "join", read]);
  expect([joined.code, joined.stdout]).toEqual([1, ""]);
  expect(joined.stderr).toContain(`code 1 of ${frames.length} has `);
  expect(joined.stderr).toContain("berth: hint: put each code on its own line");
});

test("berth qr draws each code into a new SVG file, or all on the screen", async () => {
  const { folder, file } = sampleText();
  const { frames } = await runJsonOrThrow<QrOutput>(["qr", file]);
  const out = join(folder, "letter.svg");
  await runOrThrow(["qr", file, "--svg", out]);
  const drawn = frames.map((_, index) =>
    readFileSync(join(folder, `letter-${index + 1}.svg`), "utf8"),
  );
  expect(drawn).toEqual(frames.map(({ svg }) => `${svg}\n`));
  // Existing files are not overwritten.
  expect((await runBerth(["qr", file, "--svg", out])).code).toBe(1);
  writeFileSync(file, "ABC-123\n");
  await runOrThrow(["qr", file, "--svg", out]);
  expect(existsSync(out)).toBe(true);
  expect(await runOrThrow(["qr", file])).toContain("code 1 of 1");
});

test("berth qr refuses a text of more than 64 KiB", async () => {
  const { file } = sampleText();
  writeFileSync(file, "x".repeat(64 * 1024 + 1));
  const { code, stderr } = await runBerth(["qr", file]);
  expect(code).toBe(1);
  expect(stderr).toContain("65536 bytes");
});

describe("berth qr", () => {
  test.each([
    ["the bytes of a picture", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00])],
    ["Latin-1", Buffer.from("Z\u00fcrich", "latin1")],
    ["UTF-16", Buffer.from("\ufeffabc", "utf16le")],
  ])("refuses a file that is not UTF-8 text: %s", async (_, bytes) => {
    const file = join(tempFolder(), "file");
    writeFileSync(file, bytes);
    const { code, stdout, stderr } = await runBerth(["qr", file]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("is not UTF-8 text");
  });

  test.each(["", "\n", " \r\n\t"])("refuses a file without text: %p", async (text) => {
    const file = join(tempFolder(), "file");
    writeFileSync(file, text);
    const { code, stdout, stderr } = await runBerth(["qr", file]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("is empty");
  });

  test.each(["a line", "a line\n", "two\r\nlines\r\n\n", "\ufeffwith a mark\n", "  indented  "])(
    "encodes %p so that qr join --out restores every byte",
    async (text) => {
      const folder = tempFolder();
      const [file, read, out] = ["file", "read", "out"].map((name) => join(folder, name));
      if (file === undefined || read === undefined || out === undefined) throw new Error("no name");
      writeFileSync(file, text);
      const { frames } = await runJsonOrThrow<QrOutput>(["qr", file]);
      writeFileSync(read, frames.map((frame) => frame.text).join("\n"));
      await runOrThrow(["qr", "join", read, "--out", out]);
      expect(readFileSync(out, "utf8")).toBe(text);
      const shown = text.replace(/\n?$/, "\n");
      expect(await runOrThrow(["qr", "join", read])).toBe(shown);
    },
  );

  test("encodes an activation code without the line end of its file", async () => {
    const file = join(tempFolder(), "code.txt");
    const code = encodeCode(
      new Uint8Array(Math.ceil(CODE_BITS.activation / 8)),
      CODE_BITS.activation,
    );
    writeFileSync(file, `${code}\n`);
    const { frames } = await runJsonOrThrow<QrOutput>(["qr", file]);
    expect(frames.map(({ text }) => text)).toEqual([code]);
  });
});

describe("berth qr join", () => {
  test("accepts a misread code that is also read correctly, and warns about foreign lines", async () => {
    const { folder, file, text } = sampleText();
    const { frames } = await runJsonOrThrow<QrOutput>(["qr", file]);
    const codes = frames.map((frame) => frame.text);
    const read = join(folder, "read.txt");
    const misread = codes[0]?.slice(0, -1) ?? "";
    writeFileSync(read, ["", misread, "seen on Monday", "", ...codes, ""].join("\n"));
    const { code, stdout, stderr } = await runBerth(["qr", "join", read]);
    expect([code, stdout]).toEqual([0, `${text}\n`]);
    expect(stderr).toBe(
      "berth: warning: line 3 is not a Berth code or was misread; it was ignored\n",
    );
    const { stdout: json } = await runBerth(["qr", "join", read, "--json"]);
    expect(JSON.parse(json)).toEqual({ text: `${text}\n`, ignored_lines: [3] });
  });

  test("says that an empty input contains no codes", async () => {
    const read = join(tempFolder(), "read.txt");
    writeFileSync(read, "\n\n");
    const { code, stderr } = await runBerth(["qr", "join", read]);
    expect(code).toBe(1);
    expect(stderr).toContain("there are no codes in the input");
  });
});
