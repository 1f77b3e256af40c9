import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { routes } from "../../src/http/planes.ts";
import { buildBinary } from "../support/binary.ts";
import {
  makeCanary,
  readCommandLines,
  findSecrets,
  findLeaks,
  serveWithCapturedOutput,
} from "../support/canaries.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { readText } from "../support/status-stream.ts";

/** Runs a command with something on its standard input, and looks at who can see what meanwhile. */
async function runWithInput(input: string, lines: string[], ...words: string[]): Promise<string> {
  const child = Bun.spawn([buildBinary(), ...words], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    env: {},
  });
  await Bun.sleep(100);
  lines.push(...readCommandLines(buildBinary()));
  await child.stdin.write(input);
  await child.stdin.end();
  const [code, out, err] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  expect([code, err]).toEqual([0, ""]);
  return out;
}

test("tokens and passwords leave no trace, with every request logged", async () => {
  const [folder, said] = [tempFolder(), tempFolder()];
  await makeLicensedSite(folder, { product: "cad" });
  const { url, child, err } = await serveWithCapturedOutput(folder, said, "--log", "requests");
  const lines: string[] = [];
  const data = ["--data", folder];

  const made = await runWithInput("", lines, "admin", "token", "--name", "ops", "--json", ...data);
  const { token } = JSON.parse(made) as { token: string };
  const password = makeCanary("password");
  const answered = await runWithInput(
    `${password}\n`,
    lines,
    "admin",
    "user",
    "add",
    "ada",
    ...data,
  );
  const basic = (word: string) => `Basic ${Buffer.from(`ada:${word}`).toString("base64")}`;
  const login = await fetch(`${url}/auth`, { headers: { authorization: basic(password) } });
  const { token: session } = (await login.json()) as { token: string };
  expect(session).toStartWith("berth_");
  const wrong = makeCanary("wrong");
  const secrets = [token, password, session, wrong];

  // On every route, rightly and in every wrong way; what comes back has none of it.
  const replies = [answered];
  const statuses = new Set<number>();
  const call = async (path: string, init: RequestInit): Promise<void> => {
    const response = await fetch(`${url}${path}`, init);
    statuses.add(response.status);
    replies.push(JSON.stringify([...response.headers]) + (await readText(response)));
    lines.push(...readCommandLines(buildBinary()));
  };
  const shown = [
    `Bearer ${token}`,
    `Bearer ${session}`,
    `bearer ${token}x`,
    `Bearer ${token}, Bearer ${token}`,
    token,
    basic(wrong),
    `Basic ${token}`,
  ];
  for (const [path, planes] of routes) {
    for (const method of Object.keys(planes)) {
      for (const authorization of shown) {
        const body = JSON.stringify({ password: wrong, signing_key: token, [wrong]: session });
        const headers = { authorization, "content-type": "application/json", cookie: session };
        const query = `?${new URLSearchParams({ token, password: wrong, access_token: session }).toString()}`;
        await call(path + query, { method, headers, ...(method === "POST" && { body }) });
      }
    }
  }
  await call("/auth", { headers: { authorization: basic(wrong) } });
  // A name is not a secret, but somebody will type a password there.
  await call("/api/admin/v1/access/users", {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "bob", role: wrong, password: "short" }),
  });
  expect([...statuses]).toContainValues([200, 400, 401, 403]);

  const log = readFileSync(err, "utf8");
  expect(log).toContain('"path":"/auth"');
  expect(log).toContain('"actor":"ops"');
  expect(replies.flatMap((text) => findSecrets("a reply", text, secrets))).toEqual([]);
  expect(findLeaks(folder, secrets)).toEqual([]);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  expect(findLeaks(folder, secrets)).toEqual([]);
  expect(findLeaks(said, secrets)).toEqual([]);
  expect(lines.some((line) => line.includes(" admin user add "))).toBe(true);
  expect(findSecrets("a command line", lines.join("\n"), secrets)).toEqual([]);
});

test("a vendor's passphrase leaves no trace at the desk", async () => {
  const [root, apart] = [tempFolder(), tempFolder()];
  const [desk, file] = [join(root, "desk"), join(apart, "passphrase")];
  const passphrase = makeCanary("passphrase");
  writeFileSync(file, `${passphrase}\n`);
  const lines: string[] = [];
  const opened = ["--dir", desk, "--passphrase-file", file];
  const out = [
    await runWithInput(
      "",
      lines,
      "vendor",
      "init",
      "--name",
      "Acme",
      "--product",
      "cad",
      ...opened,
    ),
    await runWithInput("", lines, "vendor", "successor", ...opened),
    await runWithInput(
      "",
      lines,
      "vendor",
      "policy",
      "--policy-id",
      "p",
      "--product",
      "cad",
      ...opened,
    ),
    await runWithInput("", lines, "vendor", "passphrase", ...opened, "--new-passphrase-file", file),
  ];
  expect(out.flatMap((text) => findSecrets("what it said", text, [passphrase]))).toEqual([]);
  expect(findSecrets("a command line", lines.join("\n"), [passphrase])).toEqual([]);
  expect(findLeaks(root, [passphrase])).toEqual([]);
});
