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
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

test("the leak search finds a secret in every encoding it covers", () => {
  const secret = makeCanary("control");
  for (const text of listEncodings(secret)) {
    expect(text.length).toBeGreaterThan(20);
    expect(findSecrets("here", `xx${text}xx`, [secret])).not.toEqual([]);
  }
  expect(
    findSecrets("here", Buffer.from(`pad ${secret}`).toString("base64"), [secret]),
  ).not.toEqual([]);
});

test("cloud keys leak into no file, log, reply or command line, however they were set", async () => {
  const [folder, outputFolder] = [tempFolder(), tempFolder()];
  await makeLicensedSite(folder, { product: "cad" });
  const { url, child, err } = await serveWithCapturedOutput(folder, outputFolder);
  const secrets: string[] = [];
  const makeSecret = (name: string): string => {
    const secret = makeCanary(name);
    secrets.push(secret);
    return secret;
  };
  const makeKeys = () => ({ apiKey: makeSecret("api"), sharedKey: makeSecret("shared") });
  const lines: string[] = [];
  const captureCommandLines = (): void => void lines.push(...readCommandLines(buildBinary()));
  const replies: string[] = [];
  const call = async (path: string, init: RequestInit = {}): Promise<number> => {
    const response = await fetch(`${url}${path}`, init);
    replies.push(JSON.stringify([...response.headers]) + (await response.text()));
    captureCommandLines();
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

  expect(await call(query(makeKeys()))).toBe(200);
  expect(await post("/api/v4/setKeys", JSON.stringify(makeKeys()))).toBe(200);
  const keys = makeKeys();
  const set = Bun.spawn([buildBinary(), "keys", "set", "-", "--data", folder], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    env: {},
  });
  const isSeen = (): boolean => {
    captureCommandLines();
    return lines.some((line) => line.includes(" keys set - "));
  };
  await waitUntil(isSeen, "the command line of keys set");
  await set.stdin.write(`apiKey=${keys.apiKey}\nsharedKey=${keys.sharedKey}\n`);
  await set.stdin.end();
  const result = await Promise.all([set.exited, set.stdout.text(), set.stderr.text()]);
  expect(result).toEqual([0, "set: apiKey, sharedKey\n", ""]);

  // Every refusal of a request that contains secrets.
  const refusedKeys = makeKeys();
  const foreign = { origin: "http://evil.example" };
  const encodedKey = encodeURIComponent(refusedKeys.apiKey);
  expect(await call(query(refusedKeys), { headers: foreign })).toBe(403);
  expect(await call(query(refusedKeys), { method: "HEAD" })).toBe(405);
  expect(await call(query(refusedKeys), { method: "DELETE" })).toBe(405);
  expect(await call(query(refusedKeys), { headers: { "x-forwarded-for": "10.0.0.1" } })).toBe(401);
  expect(await call(`${query(refusedKeys)}&apiKey=${encodedKey}`)).toBe(400);
  expect(await call(query({ apiKey: `${refusedKeys.apiKey}\u0007` }))).toBe(400);
  expect(await call(`/api/v4/setKey?apiKey=${encodedKey}`)).toBe(404);
  expect(await call(`/${encodedKey}`)).toBe(404);
  expect(await post("/api/v4/setKeys", `{"apiKey":${JSON.stringify(refusedKeys.apiKey)}`)).toBe(
    400,
  );
  expect(await post("/api/v4/setKeys", JSON.stringify({ apiKey: [refusedKeys.apiKey] }))).toBe(400);
  expect(
    await post("/api/v4/setKeys", JSON.stringify(refusedKeys), { "content-type": "text/plain" }),
  ).toBe(415);
  const long = JSON.stringify({ apiKey: refusedKeys.apiKey.repeat(2_000) });
  expect(await post("/api/v4/setKeys", long)).toBe(413);

  // A folder has the name of the new file: an internal error, which is logged.
  const blockingFolder = join(folder, "credentials.sealed.new");
  mkdirSync(blockingFolder);
  expect(await call(query(refusedKeys))).toBeGreaterThanOrEqual(500);
  expect(await post("/api/v4/setKeys", JSON.stringify(refusedKeys))).toBeGreaterThanOrEqual(500);
  rmdirSync(blockingFolder);
  expect(readFileSync(err, "utf8")).not.toBe("");

  expect(replies.flatMap((text) => findSecrets("a reply", text, secrets))).toEqual([]);
  expect(findLeaks(folder, secrets)).toEqual([]);

  // Only this payload contains the API key; it does not contain the shared key.
  const generated = await fetch(`${url}/api/v4/license/generate`, {
    method: "POST",
    body: JSON.stringify({ license_key: "K-1" }),
    headers: { "content-type": "application/json" },
  });
  const { cloud_payload } = (await generated.json()) as { cloud_payload: string };
  const payload = Buffer.from(cloud_payload, "base64").toString();
  expect((JSON.parse(payload) as { api_key: string }).api_key).toBe(keys.apiKey);
  expect(findSecrets("the payload", payload, [keys.sharedKey])).toEqual([]);

  captureCommandLines();
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  expect(findLeaks(folder, secrets)).toEqual([]);
  expect(findLeaks(outputFolder, secrets)).toEqual([]);
  expect(findSecrets("a command line", lines.join("\n"), secrets)).toEqual([]);
});
