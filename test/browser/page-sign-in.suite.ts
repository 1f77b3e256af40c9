// Signing in to the page: the first visit to an unprotected appliance, the admin token that only
// this tab knows, passwords, ended sessions, foreign sites and names, plain HTTP, TLS and the demo.
import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { atEnd, makeTempFolder, testUnless } from "../support/suite-harness.ts";
import { startBinary } from "../support/binary.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { openPage } from "./chromium.ts";
import { networkAddress, noNetworkAddress } from "./network-address.ts";
import {
  createToken,
  HOSTILE,
  openSignedIn,
  OperatorPage,
  serveSite,
  type ServedSite,
} from "./operator-page.ts";

const PASSWORD = "correct horse battery ☂";
const HTML = { "content-type": "text/html" };

/** A site with an admin token. */
let site: ServedSite;
let token: string;

beforeAll(async () => {
  site = await serveSite();
  token = await createToken(site);
});

test("the first visit to a new site creates the admin token, which the browser stores nowhere", async () => {
  const { url } = await serveSite();
  const visit = await OperatorPage.open(url);
  const { page } = visit;
  await page.getByText("Admin access is not protected").waitFor();
  await page.getByText("No license yet").waitFor();
  await visit.checkLayouts("first-visit");
  await page.getByRole("button", { name: "Create the admin token" }).click();
  expect(await page.locator("dialog code").textContent()).toStartWith("berth_");
  await visit.checkLayouts("new-token");
  await page.getByRole("button", { name: "I have saved it" }).click();
  // The tab is signed in with the token.
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  expect(
    await page.evaluate(`[{ ...localStorage }, { ...sessionStorage }, document.cookie]`),
  ).toEqual([{}, {}, ""]);
});

test("the theme buttons of the page make it dark, and light again", async () => {
  const visit = await OperatorPage.open((await serveSite()).url);
  const isDark = `getComputedStyle(document.body).backgroundColor === "rgb(15, 23, 25)"`;
  await visit.page.getByRole("button", { name: "Switch to dark" }).click();
  await visit.expectEventually(isDark, true);
  await visit.page.getByRole("button", { name: "Switch to light" }).click();
  await visit.expectEventually(isDark, false);
});

test("signing in with a wrong token shows an error, with the right one the page", async () => {
  const visit = await OperatorPage.open(site.url);
  const { page } = visit;
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await visit.checkLayouts("sign-in");
  await visit.signIn("berth_wrong");
  await page.getByRole("alert").waitFor();
  await page.getByText("Sign-in failed.").waitFor();
  await visit.signIn(token);
  await page.getByRole("navigation").waitFor();
});

test("signing out shows the sign-in form", async () => {
  const { page } = await openSignedIn(site, token, "/");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.getByLabel("Administration token").waitFor();
});

test("only an administrator can sign in with a password, also one whose name is HTML", async () => {
  await sendAccessRequest("users", { name: HOSTILE, role: "admin", password: PASSWORD });
  await sendAccessRequest("users", { name: "ada", role: "user", password: PASSWORD });
  const visit = await OperatorPage.open(site.url);
  const { page } = visit;
  const form = page.locator("details").filter({ hasText: "With a password" });
  await form.locator("summary").click();
  const login = async (name: string, password: string): Promise<void> => {
    await form.getByLabel("Name").fill(name);
    await form.getByLabel("Password").fill(password);
    await form.getByRole("button", { name: "Sign in" }).click();
  };
  const alert = (text: string) => form.getByRole("alert").filter({ hasText: text });
  await login(HOSTILE, `${PASSWORD}!`);
  await alert("the name or the password is wrong").waitFor();
  await login("ada", PASSWORD);
  await alert("this operation needs an administrator").waitFor();
  await visit.checkLayouts("sign-in-refused");
  await login(HOSTILE, PASSWORD);
  await page.getByRole("navigation").waitFor();
  await page.goto(`${site.url}#/settings`);
  const ownEntry = page.getByRole("listitem").filter({ hasText: HOSTILE });
  await ownEntry.getByText("you").waitFor();
});

test("the page asks for a new sign-in after its token is revoked, and then shows the same page", async () => {
  const revokedToken = await createToken(site, "brief");
  const visit = await openSignedIn(site, revokedToken, "#/settings/trust");
  const { page } = visit;
  await page.getByText("No vendor is trusted yet").waitFor();
  BERTH_COMMANDS.run("admin", "token", "--revoke", "brief", "--data", site.folder);
  await page.getByText("Please sign in again").waitFor();
  await visit.checkLayouts("token-revoked");
  await visit.signIn(token);
  await page.getByText("No vendor is trusted yet").waitFor();
  expect(page.url()).toEndWith("#/settings/trust");
});

test("a page of another site in the administrator's browser cannot read or use the admin API", async () => {
  const { url } = site;
  const other = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response("<!doctype html><title>other</title>", { headers: HTML }),
  });
  atEnd(() => void other.stop(true));
  const page = await openPage();
  await page.goto(other.url.href);
  const outcomes = await page.evaluate<string[]>(`Promise.all([
    fetch("${url}api/admin/v1/access").then(() => "read", () => "refused"),
    fetch("${url}api/admin/v1/access/tokens", { method: "POST", body: '{"name":"forged"}' })
      .then(() => "created", () => "refused"),
    fetch("${url}api/admin/v1/access/tokens", {
      method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" },
      body: '{"name":"forged"}',
    }).then(({ status }) => "answered " + status, () => "refused"),
  ])`);
  expect(outcomes).toEqual(["refused", "refused", "answered 0"]);
  const access = await fetch(`${url}api/admin/v1/access`, { headers: headers() });
  const { tokens } = (await access.json()) as { readonly tokens: readonly { name: string }[] };
  expect(tokens.map(({ name }) => name)).not.toContain("forged");
  await page.close();
});

test("a host name that leads to the server but is not its name is refused with 421", async () => {
  const page = await openPage();
  const answer = await page.goto(site.url.replace("127.0.0.1", "berth.example"));
  expect(answer?.status()).toBe(421);
  expect(await page.locator("body").textContent()).toContain("use its IP address, localhost");
  await page.close();
});

// Plain HTTP at the machine's network address: the same as from another machine.
testUnless(noNetworkAddress)(
  "over plain HTTP from the network nobody can sign in, and the page shows how to set up TLS",
  async () => {
    const folder = join(makeTempFolder(), "site");
    const args = ["--data", folder, "--listen", `${networkAddress}:0`];
    const running = await startBinary("serve", ...args);
    atEnd(() => void running.kill());
    const networkToken = await createToken({ folder });
    const visit = await OperatorPage.open(running.url);
    const { page } = visit;
    const title = page.getByRole("heading", { name: "HTTPS required" });
    await title.waitFor();
    await page.getByText("berth tls init", { exact: true }).waitFor();
    await visit.checkLayouts("plain-http");
    const requestsWithToken: string[] = [];
    page.on("request", (request) => {
      if (request.headers()["authorization"] !== undefined) requestsWithToken.push(request.url());
    });
    await page.getByText("Sign in over plain HTTP anyway").click();
    // Nothing is sent before the operator insists.
    expect(requestsWithToken).toEqual([]);
    await visit.signIn(networkToken);
    await page.getByText("Sign in over plain HTTP").waitFor({ state: "detached" });
    await title.waitFor();
  },
);

test("over TLS the page is live after signing in, and shows when the certificate expires", async () => {
  const { folder, stop } = await serveSite();
  const tlsToken = await createToken({ folder });
  await stop();
  BERTH_COMMANDS.run("tls", "init", "--data", folder);
  const running = await serveSite(folder, "--listen-tls", "127.0.0.1:0");
  const url = /https:\/\/[^\s,]+/.exec(running.output)?.[0] ?? "";
  const { page } = await openSignedIn({ ...running, url }, tlsToken, "/", {
    ignoreHTTPSErrors: true,
  });
  await page.getByText("live", { exact: true }).waitFor();
  expect(page.url()).toStartWith("https:");
  await page.goto(`${url}#/settings/network`);
  await page.getByText("Valid until").waitFor();
});

test("a demo needs no sign-in, and the page says that it is a demo", async () => {
  const folder = join(makeTempFolder(), "demo");
  const running = await startBinary("demo", "--data", folder, "--listen", "127.0.0.1:0");
  atEnd(() => void running.kill());
  const visit = await OperatorPage.open(running.url);
  await visit.page.getByText("Demo: for evaluation").waitFor();
  await visit.page.getByRole("heading", { name: "DEMO" }).first().waitFor();
  await visit.checkLayouts("demo");
});

function headers(): Record<string, string> {
  return { authorization: `Bearer ${token}`, "content-type": "application/json" };
}

/** Calls an access route of the admin API. */
async function sendAccessRequest(
  route: string,
  body: Readonly<Record<string, string>>,
): Promise<void> {
  const path = `${site.url}api/admin/v1/access/${route}`;
  const init = { method: "POST", headers: headers(), body: JSON.stringify(body) };
  const answer = await fetch(path, init);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
}
