// `berth run` with servers that require TLS, a client certificate or a login.
import { expect, onTestFinished, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startWrapped } from "../support/run-wrapper.ts";
import { PASSWORD, RunningSite } from "../support/running-site.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { openUnusableTlsServers } from "../support/unusable-tls-servers.ts";

async function openSite(): Promise<RunningSite> {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "CAD", slots: 2 });
  return RunningSite.open([], folder);
}

/** Serves over TLS with a certificate of the site CA; `CA` in a flag is the path of the CA. */
async function serveTls(site: RunningSite, ...flags: string[]) {
  await site.runCommand(["tls", "init", "--names", "localhost"]);
  const ca = join(site.folder, "tls", "ca.pem");
  await site.restart([
    "--listen-tls",
    "127.0.0.1:0",
    ...flags.map((flag) => flag.replace("CA", ca)),
  ]);
  return { ca, url: /https:\/\/127\.0\.0\.1:\d+/.exec(site.server.output)?.[0] ?? "" };
}

const PRINT = ["sh", "-c", "echo $BERTH_RUN_USER"];

test("berth run trusts the CA of --ca-file, and no server without it", async () => {
  const { ca, url } = await serveTls(await openSite());
  const trusted = startWrapped({ url }, ["--ca-file", ca], PRINT);
  expect([await trusted.end(), trusted.stderr]).toEqual([0, ""]);
  const untrusted = startWrapped({ url }, [], PRINT);
  expect([await untrusted.end(), untrusted.stdout]).toEqual([69, ""]);
  expect(untrusted.stderr).toContain("certificate");
});

test("berth run trusts the CAs of the machine, but only that of --ca-file if it is given", async () => {
  const { ca, url } = await serveTls(await openSite());
  const env = { NODE_EXTRA_CA_CERTS: ca };
  const trusted = startWrapped({ url }, [], PRINT, { env });
  expect([await trusted.end(), trusted.stderr]).toEqual([0, ""]);
  const { untrusted } = await openUnusableTlsServers(onTestFinished);
  const otherCa = join(tempFolder(), "other.pem");
  writeFileSync(otherCa, untrusted?.ca ?? "");
  const other = startWrapped({ url }, ["--ca-file", otherCa], PRINT, { env });
  expect([await other.end(), other.stdout]).toEqual([69, ""]);
  expect(other.stderr).toContain("has a certificate that is not trusted");
});

test("berth run presents the client certificate of --cert-file", async () => {
  const site = await openSite();
  const certificate = join(tempFolder(), "ws-17.pem");
  const { ca, url } = await serveTls(site, "--client-auth", "mtls", "--client-ca", "CA");
  await site.runCommand(["tls", "client", "--name", "ws-17", "--out", certificate]);
  const flags = ["--ca-file", ca, "--cert-file", certificate];
  const job = startWrapped({ url }, flags, PRINT);
  expect([await job.end(), job.stderr]).toEqual([0, ""]);
  const without = startWrapped({ url }, ["--ca-file", ca], PRINT);
  expect(await without.end()).not.toBe(0);
  expect(without.stdout).toBe("");
});

test("berth run logs in, and holds the slot as a process of that login", async () => {
  const site = await openSite();
  await site.runCommand(["admin", "user", "add", "ada", "--role", "user"], `${PASSWORD}\n`);
  await site.restart(["--client-auth", "login"]);
  const passwordFile = join(tempFolder(), "password");
  writeFileSync(passwordFile, `${PASSWORD}\n`);
  const flags = ["--login", "ada", "--password-file", passwordFile];
  const job = startWrapped(site.server, flags, PRINT);
  expect([await job.end(), job.stderr]).toEqual([0, ""]);
  expect(job.stdout).toStartWith("ada#");
  const other = startWrapped(site.server, [...flags, "--user", "bob"], PRINT);
  expect([await other.end(), other.stdout]).toEqual([77, ""]);
  const without = startWrapped(site.server, [], PRINT);
  expect([await without.end(), without.stdout]).toEqual([77, ""]);
  expect(without.stderr).toContain("(unauthorized)");
});
