import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { curlCommand, type Caller } from "../../../src/web/docs/curl.ts";
import type { OutgoingRequest } from "../../../src/web/docs/outgoing-request.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const ORIGIN = "http://127.0.0.1:8080";

/** The arguments that a real shell passes to a program named curl. */
function argumentsOf(request: OutgoingRequest, caller: Caller = "anonymous"): string[] {
  const folder = tempFolder();
  const program = join(folder, "curl");
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\0' "$@"\n`, { mode: 0o755 });
  const line = curlCommand(ORIGIN, request, caller);
  const { stdout, exitCode } = Bun.spawnSync(["/bin/sh", "-c", line], {
    env: { PATH: folder, BERTH_TOKEN: "berth_secret" },
    cwd: folder,
  });
  expect(exitCode).toBe(0);
  return stdout.toString().split("\0").slice(0, -1);
}

const postRequest = (
  body: OutgoingRequest["body"],
  path = "/api/v4/register",
): OutgoingRequest => ({
  method: "POST",
  path,
  headers: { "Content-Type": "application/json" },
  body,
});

test("curlCommand contains the address, headers and body of the request", () => {
  expect(argumentsOf(postRequest('{"user":"ada"}'))).toEqual([
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
])("curlCommand quotes the body %j so that a shell does not interpret it", (body) => {
  expect(argumentsOf(postRequest(body)).at(-1)).toBe(body);
});

test("curlCommand quotes an address with a query as one argument", () => {
  const path = "/api/v4/setKeys?apiKey=a%26b&sharedKey=c'd;e";
  const words = argumentsOf({ method: "GET", path, headers: {}, body: null });
  expect(words).toEqual(["-sS", `${ORIGIN}${path}`]);
});

test("curlCommand refers to the token by a variable, without its value", () => {
  const line = curlCommand(ORIGIN, postRequest("{}"), "token");
  expect(line).toContain("$BERTH_TOKEN");
  expect(argumentsOf(postRequest("{}"), "token")).toContain("Authorization: Bearer berth_secret");
});

test("curlCommand passes only the user name, so that curl asks for the password", () => {
  const words = argumentsOf(
    { method: "GET", path: "/auth", headers: {}, body: null },
    { user: "o'x" },
  );
  expect(words.slice(2)).toEqual(["-u", "o'x"]);
});

test("curlCommand sends a file from the current folder", () => {
  const fileArgument = (name: string): string | undefined =>
    argumentsOf(postRequest(new File([], name))).at(-1);
  expect(fileArgument("answer.jwt")).toBe("license=@answer.jwt");
  expect(fileArgument(`it's;type="x",y\\.jwt`)).toBe(
    String.raw`license=@"it's;type=\"x\",y\\.jwt"`,
  );
});
