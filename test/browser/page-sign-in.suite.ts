// Signing in to the page: the first visit to an unprotected appliance, tokens, passwords, sessions
// over a reload, in two tabs and after a revocation, viewers, foreign sites and names, plain HTTP,
// TLS and the demo.
import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { atEnd, makeTempFolder, testUnless } from "../support/suite-harness.ts";
import { startBinary } from "../support/binary.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { openPage } from "./chromium.ts";
import { sendForm } from "./docs-page.ts";
import { networkAddress, noNetworkAddress } from "./network-address.ts";
import {
  createToken,
  openSignedIn,
  OperatorPage,
  serveSite,
  type ServedSite,
} from "./operator-page.ts";
import { dropFile } from "./vendor-desk.ts";

const PASSWORD = "correct horse battery ☂";
const TOKEN_LABEL = "Administration token";
const HTML = { "content-type": "text/html" };

/** A site with an admin token. */
let site: ServedSite;
let token: string;

beforeAll(async () => {
  site = await serveSite();
  token = await createToken(site);
});

test("the first visit to a new site creates the admin token, and the browser keeps only a session", async () => {
  const { url } = await serveSite();
  const visit = await OperatorPage.open(url);
  const { page } = visit;
  await page.getByText("Administration is open to everybody on this machine").waitFor();
  await page.getByText("No license yet").waitFor();
  await visit.checkLayouts("first-visit");
  await page.getByRole("button", { name: "Create the admin token" }).click();
  const newToken = (await page.locator("dialog code").textContent()) ?? "";
  expect(newToken).toStartWith("berth_");
  await visit.checkLayouts("new-token");
  await page.getByRole("button", { name: "I have saved it" }).click();
  // The tab is signed in.
  await visit.waitUntilSignedIn();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.reload();
  await page.getByText("Live", { exact: true }).waitFor();
  const stored = await page.evaluate<string>(
    `JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])`,
  );
  expect(stored).not.toContain(newToken);
  expect(stored).toEndWith(',""]');
});

test("the theme of the menu makes the page dark, and a reload keeps it so", async () => {
  const visit = await OperatorPage.open((await serveSite()).url);
  const isDark = `getComputedStyle(document.body).backgroundColor === "rgb(15, 23, 25)"`;
  await visit.chooseTheme("Dark");
  await visit.expectEventually(isDark, true);
  await visit.page.reload();
  await visit.expectEventually(isDark, true);
  await visit.chooseTheme("Light");
  await visit.expectEventually(isDark, false);
});

test("signing in with a wrong token shows an error, with the right one the page", async () => {
  const visit = await OperatorPage.open(site.url);
  const { page } = visit;
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  // The field has the focus: a token can be pasted at once.
  await visit.expectEventually("document.activeElement.labels?.[0]?.textContent", TOKEN_LABEL);
  await visit.checkLayouts("sign-in");
  await visit.signIn("berth_wrong");
  await page.getByRole("alert").filter({ hasText: "This token is not valid." }).waitFor();
  await visit.signIn(token);
  await page.getByRole("navigation").waitFor();
  await visit.expectEventually("document.activeElement.id", "view");
});

test("a reload stays signed in, and so do the API documentation and the way back", async () => {
  const { page } = await openSignedIn(site, token, "#/settings/trust");
  await page.getByText("No vendor is trusted yet").waitFor();
  await page.reload();
  await page.getByText("No vendor is trusted yet").waitFor();
  await page.goto(`${site.url}api/v4/docs#get-api-admin-v1-status`);
  await page.getByText("This tab is signed in as suite").waitFor();
  expect(await sendForm(page)).toBe("200");
  await page.goBack();
  await page.getByText("No vendor is trusted yet").waitFor();
  // A tab that is opened on its own has no part in it.
  const opened = page.context().waitForEvent("page");
  await page.evaluate(`void open(location.href, "_blank", "noopener")`);
  await (await opened).getByRole("heading", { name: "Sign in" }).waitFor();
});

test("a restart of the server does not sign out", async () => {
  const first = await serveSite();
  const restartToken = await createToken(first);
  const { page } = await openSignedIn(first, restartToken, "#/settings/trust");
  await page.getByText("No vendor is trusted yet").waitFor();
  await first.stop();
  const { host } = new URL(first.url);
  const second = await startBinary("serve", "--data", first.folder, "--listen", host);
  atEnd(() => void second.kill());
  await page.reload();
  await page.getByText("No vendor is trusted yet").waitFor();
});

test("signing out revokes the session on the server and forgets everything", async () => {
  const visit = await openSignedIn(site, token, "#/slots");
  const { page } = visit;
  await page.getByText("Live", { exact: true }).waitFor();
  const session = await readSession(page);
  expect(await statusOf(session.token)).toBe(200);
  await page.evaluate("globalThis.isSamePage = true");
  await visit.signOut();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  // The page was loaded anew, so nothing of what it held is left in memory.
  await visit.expectEventually("globalThis.isSamePage === undefined", true);
  await page.getByLabel("Administration token").waitFor();
  expect(await page.getByText("This session has expired").count()).toBe(0);
  expect(await page.evaluate("sessionStorage.length")).toBe(0);
  expect(await statusOf(session.token)).toBe(401);
});

test("signing out in one tab ends the session of a copy of that tab", async () => {
  const visit = await openSignedIn(site, token, "/");
  const { page } = visit;
  await page.getByText("Live", { exact: true }).waitFor();
  // Only a tab that a page opens itself gets a copy of its storage.
  const opened = page.waitForEvent("popup");
  await page.evaluate(`void open(location.href)`);
  const copy = await opened;
  await copy.getByText("Live", { exact: true }).waitFor();
  await visit.signOut();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await copy.getByText("This session has expired. Sign in again.").waitFor();
});

test("only administrators and viewers can sign in with a password, also one whose name is an e-mail address", async () => {
  const email = "zoë@plant-7.example";
  await sendAccessRequest("users", { name: email, role: "admin", password: PASSWORD });
  await sendAccessRequest("users", { name: "ada", role: "user", password: PASSWORD });
  const visit = await OperatorPage.open(site.url);
  const { page } = visit;
  const form = page.getByRole("region", { name: "With a password" });
  const login = async (name: string, password: string): Promise<void> => {
    await form.getByLabel("Name").fill(name);
    await form.getByLabel("Password").fill(password);
    await form.getByRole("button", { name: "Sign in" }).click();
  };
  const alert = (text: string) => form.getByRole("alert").filter({ hasText: text });
  await login(email, `${PASSWORD}!`);
  await alert("the name or the password is wrong").waitFor();
  await login("ada", PASSWORD);
  await alert("this operation needs an administrator").waitFor();
  await visit.checkLayouts("sign-in-refused");
  await login(email, PASSWORD);
  await page.getByRole("navigation").waitFor();
  await page.goto(`${site.url}#/settings/access`);
  const users = page.getByRole("table", { name: "Users" });
  await users.getByRole("row").filter({ hasText: email }).getByText("you").waitFor();
  // Next time this browser offers the password first.
  await visit.signOut();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await visit.expectEventually("document.activeElement.labels?.[0]?.textContent", "Name");
});

test("the page asks for a new sign-in after its token is revoked, and then shows the same page", async () => {
  const revokedToken = await createToken(site, "brief");
  const visit = await openSignedIn(site, revokedToken, "#/settings/trust");
  const { page } = visit;
  await page.getByText("No vendor is trusted yet").waitFor();
  await dropFile(page, '{"kty":"OKP","d":"AAAA"}', "vendor.key");
  await page.getByRole("dialog").getByText("This is a private key").waitFor();
  BERTH_COMMANDS.run("admin", "token", "--revoke", "brief", "--data", site.folder);
  await page.getByText("This session has expired. Sign in again.").waitFor();
  expect(await page.locator("dialog").count()).toBe(0);
  await visit.checkLayouts("token-revoked");
  await visit.signIn(token);
  await page.getByText("No vendor is trusted yet").waitFor();
  expect(page.url()).toEndWith("#/settings/trust");
});

test("a session that is revoked in Settings ends in its own tab, and is listed no more", async () => {
  const other = await openSignedIn(site, await createToken(site, "other"), "/");
  await other.page.getByText("Live", { exact: true }).waitFor();
  const visit = await openSignedIn(site, token, "#/settings/access");
  const sessions = visit.page.getByRole("table", { name: "Sessions" });
  const row = sessions.getByRole("row").filter({ hasText: "other" });
  await row.getByRole("button", { name: "Revoke the session of other" }).click();
  await visit.page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await row.waitFor({ state: "detached" });
  await other.page.getByText("This session has expired. Sign in again.").waitFor();
  await sessions.getByText("this session").waitFor();
});

test("a viewer sees everything in Settings › Access and no button that would be refused", async () => {
  await sendAccessRequest("users", { name: "vera", role: "viewer", password: PASSWORD });
  const viewerToken = await sendAccessRequest("tokens", { name: "eyes", role: "viewer" });
  const visit = await openSignedIn(site, viewerToken["token"] ?? "", "#/settings/access");
  const { page } = visit;
  await page.getByText("You are signed in as a viewer").waitFor();
  await page.getByRole("table", { name: "Tokens" }).getByText("eyes").waitFor();
  await page.getByRole("table", { name: "Users" }).getByText("vera").waitFor();
  for (const name of ["Create a token", "Add a user", /^Revoke/, /^Remove/, /^New password/]) {
    expect([name, await page.getByRole("button", { name }).count()]).toEqual([name, 0]);
  }
  await visit.checkLayouts("access-viewer");
  await page
    .getByRole("table", { name: "Sessions" })
    .getByRole("button", { name: "Sign out" })
    .click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});

test("a viewer can open every view, and none sends a request that is refused", async () => {
  const viewerToken = await sendAccessRequest("tokens", { name: "all-views", role: "viewer" });
  const visit = await openSignedIn(site, viewerToken["token"] ?? "", "/");
  const { page } = visit;
  await page.getByText("Live", { exact: true }).waitFor();
  const refused: string[] = [];
  page.on("response", (response) => {
    if (response.status() === 403) refused.push(response.url());
  });
  const screens = ["slots", "licenses", "audit", "health", "settings/trust", "settings/network"];
  for (const screen of [...screens, "settings/clock", "settings/maintenance"]) {
    await page.goto(`${site.url}#/${screen}`);
    await page.getByRole("main").getByRole("heading").first().waitFor();
  }
  expect(refused).toEqual([]);
  await page.goto(`${site.url}#/settings/keys`);
  await page.getByRole("heading", { name: "Cloud keys" }).waitFor();
  expect(await page.getByRole("button", { name: "Set the keys" }).count()).toBe(0);
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
    fetch("${url}api/admin/v1/access/tokens", { method: "POST", body: '{"name":"forged","role":"admin"}' })
      .then(() => "created", () => "refused"),
    fetch("${url}api/admin/v1/access/tokens", {
      method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" },
      body: '{"name":"forged","role":"admin"}',
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
  "over plain HTTP from the network, sign-in is not possible, and the page shows how to set up TLS",
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
    await page.locator("code").filter({ hasText: "tls init" }).waitFor();
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
  await page.getByText("Live", { exact: true }).waitFor();
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
): Promise<Readonly<Record<string, string>>> {
  const path = `${site.url}api/admin/v1/access/${route}`;
  const init = { method: "POST", headers: headers(), body: JSON.stringify(body) };
  const answer = await fetch(path, init);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, string>;
}

/** The session that the tab has stored. */
const readSession = async (page: Page): Promise<{ readonly token: string }> =>
  JSON.parse(await page.evaluate<string>(`sessionStorage.getItem("berth-session")`)) as {
    readonly token: string;
  };

async function statusOf(credential: string): Promise<number> {
  const authorization = `Bearer ${credential}`;
  return (await fetch(`${site.url}api/admin/v1/status`, { headers: { authorization } })).status;
}
