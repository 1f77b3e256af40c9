import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import {
  makeCanary,
  readCommandLines,
  findSecrets,
  findLeaks,
  serveWithCapturedOutput,
  listEncodings,
} from "../support/canaries.ts";
import { waitUntil } from "../support/running-site.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

test("the search finds a secret in every spelling it looks for", () => {
  const secret = makeCanary("control");
  for (const text of listEncodings(secret)) {
    expect(text.length).toBeGreaterThan(20);
    expect(findSecrets("here", `xx${text}xx`, [secret])).not.toEqual([]);
  }
  expect(
    findSecrets("here", Buffer.from(`pad ${secret}`).toString("base64"), [secret]),
  ).not.toEqual([]);
});

test("keys leave no trace in files, output or command lines, however they were set", async () => {
  const [folder, said] = [tempFolder(), tempFolder()];
  await makeLicensedSite(folder, { product: "cad" });
  const { url, child, err } = await serveWithCapturedOutput(folder, said);
  const secrets: string[] = [];
  const secret = (name: string): string => {
    const made = makeCanary(name);
    secrets.push(made);
    return made;
  };
  const pair = () => ({ apiKey: secret("api"), sharedKey: secret("shared") });
  const lines: string[] = [];
  const look = (): void => void lines.push(...readCommandLines(buildBinary()));
  const replies: string[] = [];
  const call = async (path: string, init: RequestInit = {}): Promise<number> => {
    const response = await fetch(`${url}${path}`, init);
    replies.push(JSON.stringify([...response.headers]) + (await response.text()));
    look();
    return response.status;
  };
  const query = (keys: Record<string, string>): string =>
    `/api/v4/setKeys?${new URLSearchParams(keys).toString()}`;
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    call(path, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
    });

  expect(await call(query(pair()))).toBe(200);
  expect(await post("/api/v4/setKeys", JSON.stringify(pair()))).toBe(200);
  const keys = pair();
  const set = Bun.spawn([buildBinary(), "keys", "set", "-", "--data", folder], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    env: {},
  });
  const isSeen = (): boolean => {
    look();
    return lines.some((line) => line.includes(" keys set - "));
  };
  await waitUntil(isSeen, "the command line of keys set");
  await set.stdin.write(`apiKey=${keys.apiKey}\nsharedKey=${keys.sharedKey}\n`);
  await set.stdin.end();
  const answered = await Promise.all([set.exited, set.stdout.text(), set.stderr.text()]);
  expect(answered).toEqual([0, "set: apiKey, sharedKey\n", ""]);

  // Everything that can go wrong with a secret in hand.
  const both = pair();
  const foreign = { origin: "http://evil.example" };
  const named = encodeURIComponent(both.apiKey);
  expect(await call(query(both), { headers: foreign })).toBe(403);
  expect(await call(query(both), { method: "HEAD" })).toBe(405);
  expect(await call(query(both), { method: "DELETE" })).toBe(405);
  expect(await call(query(both), { headers: { "x-forwarded-for": "10.0.0.1" } })).toBe(401);
  expect(await call(`${query(both)}&apiKey=${named}`)).toBe(400);
  expect(await call(query({ apiKey: `${both.apiKey}\u0007` }))).toBe(400);
  expect(await call(`/api/v4/setKey?apiKey=${named}`)).toBe(404);
  expect(await call(`/${named}`)).toBe(404);
  expect(await post("/api/v4/setKeys", `{"apiKey":${JSON.stringify(both.apiKey)}`)).toBe(400);
  expect(await post("/api/v4/setKeys", JSON.stringify({ apiKey: [both.apiKey] }))).toBe(400);
  expect(
    await post("/api/v4/setKeys", JSON.stringify(both), { "content-type": "text/plain" }),
  ).toBe(415);
  const long = JSON.stringify({ apiKey: both.apiKey.repeat(2_000) });
  expect(await post("/api/v4/setKeys", long)).toBe(413);

  // A folder stands where the file should go: a fault of our own, and one for the log.
  const inTheWay = join(folder, "credentials.sealed.new");
  mkdirSync(inTheWay);
  expect(await call(query(both))).toBeGreaterThanOrEqual(500);
  expect(await post("/api/v4/setKeys", JSON.stringify(both))).toBeGreaterThanOrEqual(500);
  rmdirSync(inTheWay);
  expect(readFileSync(err, "utf8")).not.toBe("");

  expect(replies.flatMap((text) => findSecrets("a reply", text, secrets))).toEqual([]);
  expect(findLeaks(folder, secrets)).toEqual([]);

  // The one place where the API key belongs; the shared key is not in it.
  const generated = await fetch(`${url}/api/v4/license/generate`, {
    method: "POST",
    body: JSON.stringify({ license_key: "K-1" }),
    headers: { "content-type": "application/json" },
  });
  const { cloud_payload } = (await generated.json()) as { cloud_payload: string };
  const payload = Buffer.from(cloud_payload, "base64").toString();
  expect((JSON.parse(payload) as { api_key: string }).api_key).toBe(keys.apiKey);
  expect(findSecrets("the payload", payload, [keys.sharedKey])).toEqual([]);

  look();
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  expect(findLeaks(folder, secrets)).toEqual([]);
  expect(findLeaks(said, secrets)).toEqual([]);
  expect(findSecrets("a command line", lines.join("\n"), secrets)).toEqual([]);
});
