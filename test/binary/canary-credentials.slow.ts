import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { routes } from "../support/routes.ts";
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

/** Runs a command with an input, and adds the command lines of all its processes to `lines`. */
async function runWithInput(input: string, lines: string[], ...args: string[]): Promise<string> {
  const child = Bun.spawn([buildBinary(), ...args], {
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
  expect([code, err]).toEqual([0, expect.not.stringMatching(/warning|error/)]);
  // A note may be on standard error.
  return `${err}${out}`;
}

test("tokens and passwords leak into no file, log, reply or command line, with every request logged", async () => {
  const [folder, outputFolder] = [tempFolder(), tempFolder()];
  await makeLicensedSite(folder, { product: "cad" });
  const { url, child, err } = await serveWithCapturedOutput(
    folder,
    outputFolder,
    "--log",
    "requests",
  );
  const lines: string[] = [];
  const data = ["--data", folder];

  const created = await runWithInput(
    "",
    lines,
    "admin",
    "token",
    "--name",
    "ops",
    "--json",
    ...data,
  );
  const { token } = JSON.parse(created) as { token: string };
  const password = makeCanary("password");
  const userReply = await runWithInput(
    `${password}\n`,
    lines,
    "admin",
    "user",
    "add",
    "ada",
    ...data,
  );
  const basic = (text: string) => `Basic ${Buffer.from(`ada:${text}`).toString("base64")}`;
  const login = await fetch(`${url}/auth`, { headers: { authorization: basic(password) } });
  const { token: session } = (await login.json()) as { token: string };
  expect(session).toStartWith("berth_");
  const wrong = makeCanary("wrong");
  const secrets = [token, password, session, wrong];

  // On every route, with valid credentials and in every wrong way; no reply contains a secret.
  const replies = [userReply];
  const statuses = new Set<number>();
  const call = async (path: string, init: RequestInit): Promise<void> => {
    const response = await fetch(`${url}${path}`, init);
    statuses.add(response.status);
    replies.push(JSON.stringify([...response.headers]) + (await readText(response)));
    lines.push(...readCommandLines(buildBinary()));
  };
  const authorizations = [
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
      for (const authorization of authorizations) {
        const body = JSON.stringify({ password: wrong, signing_key: token, [wrong]: session });
        const headers = { authorization, "content-type": "application/json", cookie: session };
        const query = `?${new URLSearchParams({ token, password: wrong, access_token: session }).toString()}`;
        await call(path + query, { method, headers, ...(method === "POST" && { body }) });
      }
    }
  }
  await call("/auth", { headers: { authorization: basic(wrong) } });
  // A role is not a secret, but a user may type a password there by mistake.
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
  expect(findLeaks(outputFolder, secrets)).toEqual([]);
  expect(lines.some((line) => line.includes(" admin user add "))).toBe(true);
  expect(findSecrets("a command line", lines.join("\n"), secrets)).toEqual([]);
});

test("a vendor's passphrase leaks into no desk file, output or command line", async () => {
  const [root, passphraseFolder] = [tempFolder(), tempFolder()];
  const [desk, file] = [join(root, "desk"), join(passphraseFolder, "passphrase")];
  const passphrase = makeCanary("passphrase");
  const ofRoot = makeCanary("root-passphrase");
  writeFileSync(file, `${passphrase}\n`);
  writeFileSync(`${file}-of-root`, `${ofRoot}\n`);
  const lines: string[] = [];
  const deskFlags = ["--dir", desk, "--passphrase-file", file];
  const rootFlags = ["--root", join(root, "root"), "--root-passphrase-file", `${file}-of-root`];
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
      ...deskFlags,
      ...rootFlags,
    ),
    await runWithInput("", lines, "vendor", "key", "new", ...deskFlags, ...rootFlags),
    await runWithInput(
      "",
      lines,
      "vendor",
      "policy",
      "--policy-id",
      "p",
      "--product",
      "cad",
      "--valid-until",
      "never",
      ...deskFlags,
    ),
    await runWithInput(
      "",
      lines,
      "vendor",
      "passphrase",
      ...deskFlags,
      "--new-passphrase-file",
      file,
    ),
  ];
  expect(out.flatMap((text) => findSecrets("the output", text, [passphrase, ofRoot]))).toEqual([]);
  expect(findSecrets("a command line", lines.join("\n"), [passphrase, ofRoot])).toEqual([]);
  expect(findLeaks(root, [passphrase, ofRoot])).toEqual([]);
});
