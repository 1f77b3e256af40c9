import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { curlCommand, type Caller } from "../../src/web/docs/curl.ts";
import type { OutgoingRequest } from "../../src/web/docs/outgoing-request.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ORIGIN = "http://127.0.0.1:8080";

/** What a real shell hands to a program of that name. */
function wordsOf(sending: OutgoingRequest, caller: Caller = "nobody"): string[] {
  const folder = tempFolder();
  const program = join(folder, "curl");
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\0' "$@"\n`, { mode: 0o755 });
  const line = curlCommand(ORIGIN, sending, caller);
  const { stdout, exitCode } = Bun.spawnSync(["/bin/sh", "-c", line], {
    env: { PATH: folder, BERTH_TOKEN: "berth_secret" },
    cwd: folder,
  });
  expect(exitCode).toBe(0);
  return stdout.toString().split("\0").slice(0, -1);
}

const posting = (body: OutgoingRequest["body"], path = "/api/v4/register"): OutgoingRequest => ({
  method: "POST",
  path,
  headers: { "Content-Type": "application/json" },
  body,
});

test("one line with everything that goes out", () => {
  expect(wordsOf(posting('{"user":"ada"}'))).toEqual([
    "-sS",
    `${ORIGIN}/api/v4/register`,
    "-H",
    "Content-Type: application/json",
    "--data-raw",
    '{"user":"ada"}',
  ]);
});

test.each([
  `{"user":"o'neill"}`,
  `''`,
  `$(touch owned) \`touch owned\` $HOME !! \\ "`,
  "two\nlines and a tab\t.",
  "@file",
  "名前 é 🙂",
  "",
])("a shell takes nothing in %j for its own", (body) => {
  expect(wordsOf(posting(body)).at(-1)).toBe(body);
});

test("an address with a query is one word", () => {
  const path = "/api/v4/setKeys?apiKey=a%26b&sharedKey=c'd;e";
  const words = wordsOf({ method: "GET", path, headers: {}, body: null });
  expect(words).toEqual(["-sS", `${ORIGIN}${path}`]);
});

test("a token is named, not shown", () => {
  const line = curlCommand(ORIGIN, posting("{}"), "token");
  expect(line).toContain("$BERTH_TOKEN");
  expect(wordsOf(posting("{}"), "token")).toContain("Authorization: Bearer berth_secret");
});

test("a password is asked for by curl", () => {
  const words = wordsOf({ method: "GET", path: "/auth", headers: {}, body: null }, { user: "o'x" });
  expect(words.slice(2)).toEqual(["-u", "o'x"]);
});

test("a file is sent from where curl is called", () => {
  const named = (name: string): string | undefined => wordsOf(posting(new File([], name))).at(-1);
  expect(named("answer.jwt")).toBe("license=@answer.jwt");
  expect(named(`it's;type="x",y\\.jwt`)).toBe(String.raw`license=@"it's;type=\"x\",y\\.jwt"`);
});
