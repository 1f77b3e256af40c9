// Text from foreign files must not control the terminal that shows it.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "../../../src/cli/command-table.ts";
import { completions, SHELLS } from "../../../src/cli/frame/completions.ts";
import { manPage } from "../../../src/cli/frame/man-page.ts";
import { splitIntoFrames, renderQrForTerminal } from "../../../src/license/qr/qr.ts";
import { runBerth, runOrThrow, runOnTerminal } from "../../support/run-berth.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { makeTrustDocument } from "../../support/vendor.ts";

/** Clears the screen, sets a colour, reverses the text, ends the line and forges a fingerprint. */
const HOSTILE = "Acme\u001b[2J\u009b31m\u202eevil\u2028\u2029\u2066\r\nfingerprint  AAAA";
const CONTROL_CHARACTERS = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u;

const withoutLineEnds = (text: string): string => text.replaceAll("\n", "");

/** Signed by its root, as no desk would sign it. */
async function writeHostileTrust(): Promise<string> {
  const file = join(tempFolder(), "trust.jwt");
  writeFileSync(file, await makeTrustDocument({ name: HOSTILE, products: ["cad"] }));
  return file;
}

test("trust add refuses control characters in a vendor's name, and prints none", async () => {
  const data = join(tempFolder(), "data");
  await makeLicensedSite(data, { product: "cam" });
  const words = ["trust", "add", await writeHostileTrust(), "--yes", "--data", data];
  const { code, stdout, stderr } = await runBerth(words);
  expect([code, stdout, stderr]).toEqual([
    1,
    "",
    expect.stringContaining("is not a vendor's trust document"),
  ]);
  expect(withoutLineEnds(stderr)).not.toMatch(CONTROL_CHARACTERS);
});

test("vendor inspect escapes control characters of a document, as text and as JSON", async () => {
  const trust = await writeHostileTrust();
  const shown = (await runBerth(["vendor", "inspect", trust])).stdout;
  expect(withoutLineEnds(shown)).not.toMatch(CONTROL_CHARACTERS);
  const [, payload = ""] = /^[^\n]*\nfingerprint [^\n]*\n(.*)$/s.exec(shown) ?? [];
  expect(JSON.parse(payload)).toMatchObject({ name: HOSTILE });
  const json = (await runBerth(["vendor", "inspect", trust, "--json"])).stdout;
  expect(withoutLineEnds(json)).not.toMatch(CONTROL_CHARACTERS);
  expect(JSON.parse(json)).toMatchObject({ payload: { name: HOSTILE } });
});

test("qr join writes its text unchanged to a pipe and escaped to a terminal", async () => {
  const file = join(tempFolder(), "read.txt");
  const text = "a\tb\u001b[2J\u009b31m\u202ec";
  writeFileSync(file, splitIntoFrames(text).join("\n"));
  expect(await runOrThrow(["qr", "join", file])).toBe(`${text}\n`);
  const screen = (await runOnTerminal(["qr", "join", file])).text;
  expect(screen).toBe("a\\u0009b\\u001b[2J\\u009b31m\\u202ec\r\n");
});

test("completions, man and qr print the output of berth itself unescaped", async () => {
  for (const shell of SHELLS) {
    expect(await runOrThrow(["completions", shell])).toBe(
      `${completions(shell, commands).trimEnd()}\n`,
    );
  }
  expect(await runOrThrow(["man"])).toBe(`${manPage(commands).trimEnd()}\n`);
  const file = join(tempFolder(), "letter.txt");
  writeFileSync(file, "ABC-123\n");
  const [frame = ""] = splitIntoFrames("ABC-123\n");
  expect(await runOrThrow(["qr", file])).toBe(
    `\nthe text, code 1 of 1\n${renderQrForTerminal(frame)}\n`,
  );
});
