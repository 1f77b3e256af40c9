import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { berth, done, doneJson } from "../support/berth.ts";
import { tempFolder } from "../support/temp-folder.ts";

// Processes of their own, on a machine that may be busy with others.
setDefaultTimeout(60_000);

interface Codes {
  readonly frames: readonly { readonly text: string; readonly svg: string }[];
}

/** A text that takes several codes, in a file. */
function letter(): { folder: string; file: string; text: string } {
  const folder = tempFolder();
  const file = join(folder, "letter.txt");
  const text = Buffer.from(crypto.getRandomValues(new Uint8Array(1_500))).toString("hex");
  writeFileSync(file, `${text}\n`);
  return { folder, file, text };
}

test("a text goes into codes and comes back", async () => {
  const { folder, file, text } = letter();
  const { frames } = await doneJson<Codes>(["qr", file]);
  expect(frames.length).toBeGreaterThan(1);
  const read = join(folder, "read.txt");
  writeFileSync(
    read,
    frames
      .map((frame) => frame.text)
      .toReversed()
      .join("\r\n"),
  );
  expect(await done(["qr", "join", read])).toBe(`${text}\n`);
  writeFileSync(read, frames[0]?.text ?? "");
  const { code, stdout, stderr } = await berth(["qr", "join", read]);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(`of ${frames.length} `);
  expect(stderr).toContain("missing");
  writeFileSync(read, frames.map(({ text: frame }) => frame).join(""));
  const joined = await berth(["qr", "join", read]);
  expect([joined.code, joined.stdout]).toEqual([1, ""]);
  expect(joined.stderr).toContain(`code 1 of ${frames.length} has `);
  expect(joined.stderr).toContain("berth: hint: give each code on a line of its own");
});

test("it is drawn into files of its own, or on the screen", async () => {
  const { folder, file } = letter();
  const { frames } = await doneJson<Codes>(["qr", file]);
  const out = join(folder, "letter.svg");
  await done(["qr", file, "--svg", out]);
  const drawn = frames.map((_, index) =>
    readFileSync(join(folder, `letter-${index + 1}.svg`), "utf8"),
  );
  expect(drawn).toEqual(frames.map(({ svg }) => `${svg}\n`));
  // What is there is not replaced.
  expect((await berth(["qr", file, "--svg", out])).code).toBe(1);
  writeFileSync(file, "ABC-123\n");
  await done(["qr", file, "--svg", out]);
  expect(existsSync(out)).toBe(true);
  expect(await done(["qr", file])).toContain("code 1 of 1");
});

test("more than fits is refused", async () => {
  const { file } = letter();
  writeFileSync(file, "x".repeat(64 * 1024 + 1));
  const { code, stderr } = await berth(["qr", file]);
  expect(code).toBe(1);
  expect(stderr).toContain("65536 bytes");
});
