// Signing in to the page: the first visit to an unprotected appliance, the admin token that only
// this tab knows, passwords, ended sessions, foreign sites and names, plain HTTP, TLS and the demo.
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { atEnd, check, finish, makeTempFolder, skip } from "../support/suite-harness.ts";
import { startBinary } from "../support/binary.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { openPage, startChromium } from "./chromium.ts";
import { HOSTILE, isShown, OperatorPage, serveSite, type ServedSite } from "./operator-page.ts";

const PASSWORD = "correct horse battery ☂";
const HTML = { "content-type": "text/html" };

const site = await serveSite();
const token = await checkFirstVisit(site);
await checkTokenSignIn(site, token);
await checkPasswordSignIn(site, token);
await checkRevokedToken(site, token);
await checkOtherSite(site, token);
await checkUnknownHostName(site);
await site.stop();
await checkPlainHttpOverNetwork(site.folder, token);
await checkTls(site.folder, token);
await checkDemo();
finish();

async function checkFirstVisit({ url }: ServedSite): Promise<string> {
  const visit = await OperatorPage.open(url);
  const { page } = visit;
  await page.getByText("Admin access is not protected").waitFor();
  check(
    "the first visit to a new site shows that it has no license",
    await isShown(page.getByText("No license yet")),
  );
  await visit.checkLayouts("first-visit");
  const isDark = `getComputedStyle(document.body).backgroundColor === "rgb(15, 23, 25)"`;
  await page.getByRole("button", { name: "Switch to dark" }).click();
  check("the dark theme button makes the page dark", await visit.isEventually(isDark));
  await page.getByRole("button", { name: "Switch to light" }).click();
  check(
    "the light theme button makes the page light again",
    await visit.isEventually(`!(${isDark})`),
  );
  await page.getByRole("button", { name: "Create the admin token" }).click();
  const newToken = (await page.locator("dialog code").textContent()) ?? "";
  check("the new admin token is shown", newToken.startsWith("berth_"), newToken.length);
  await visit.checkLayouts("new-token");
  await page.getByRole("button", { name: "I have saved it" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  check(
    "the tab that creates the first admin token is signed in with it",
    await isShown(page.getByText("live", { exact: true })),
  );
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const stored = await page.evaluate(
    `JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])`,
  );
  check(
    "after a reload the browser has stored the admin token nowhere",
    stored === '[{},{},""]',
    stored,
  );
  await end(visit, "the first visit");
  return newToken;
}

async function checkTokenSignIn({ url }: ServedSite, token: string): Promise<void> {
  const visit = await OperatorPage.open(url);
  const { page } = visit;
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await visit.checkLayouts("sign-in");
  await enter(visit, "berth_wrong");
  await page.getByRole("alert").waitFor();
  check(
    "signing in with a wrong token shows an error",
    await isShown(page.getByText("Sign-in failed.")),
  );
  await enter(visit, token);
  await page.getByRole("navigation").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  check(
    "signing out shows the sign-in form",
    await isShown(page.getByLabel("Administration token")),
  );
  await end(visit, "sign-in with a token");
}

async function checkPasswordSignIn({ url }: ServedSite, token: string): Promise<void> {
  await sendAccessRequest(url, token, "users", {
    name: HOSTILE,
    role: "admin",
    password: PASSWORD,
  });
  await sendAccessRequest(url, token, "users", { name: "ada", role: "user", password: PASSWORD });
  const visit = await OperatorPage.open(url);
  const { page } = visit;
  const form = page.locator("details").filter({ hasText: "With a password" });
  await form.locator("summary").click();
  const login = async (name: string, password: string): Promise<void> => {
    await form.getByLabel("Name").fill(name);
    await form.getByLabel("Password").fill(password);
    await form.getByRole("button", { name: "Sign in" }).click();
  };
  await login(HOSTILE, `${PASSWORD}!`);
  await page.getByText("the name or the password is wrong").waitFor();
  check("a wrong password shows an error in the form", await isShown(form.getByRole("alert")));
  await login("ada", PASSWORD);
  await page.getByText("this operation needs an administrator").waitFor();
  check(
    "signing in as a user without the admin role shows an error in the form",
    await isShown(form.getByRole("alert")),
  );
  await visit.checkLayouts("sign-in-refused");
  await login(HOSTILE, PASSWORD);
  await page.getByRole("navigation").waitFor();
  await page.goto(`${url}#/settings`);
  const ownEntry = page.getByRole("listitem").filter({ hasText: HOSTILE });
  await ownEntry.waitFor();
  check(
    "a user whose name is HTML can sign in with a password",
    await isShown(ownEntry.getByText("you")),
  );
  await end(visit, "sign-in with a password");
}

/** The token is revoked during the session; signing in with another one shows the same page. */
async function checkRevokedToken({ url, folder }: ServedSite, token: string): Promise<void> {
  const { token: revokedToken } = await sendAccessRequest(url, token, "tokens", { name: "brief" });
  const visit = await OperatorPage.open(`${url}#/settings/trust`);
  const { page } = visit;
  await enter(visit, revokedToken);
  await page.getByText("No vendor is trusted yet").waitFor();
  BERTH_COMMANDS.run("admin", "token", "--revoke", "brief", "--data", folder);
  await page.getByText("Please sign in again").waitFor();
  check("the page asks for a new sign-in soon after its token is revoked", true);
  await visit.checkLayouts("token-revoked");
  await enter(visit, token);
  await page.getByText("No vendor is trusted yet").waitFor();
  check(
    "signing in again shows the page that was open before",
    page.url().endsWith("#/settings/trust"),
    page.url(),
  );
  await end(visit, "a token revoked during a session");
}

/** A page of another site, open in the administrator's browser. */
async function checkOtherSite({ url }: ServedSite, token: string): Promise<void> {
  const other = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response("<!doctype html><title>other</title>", { headers: HTML }),
  });
  atEnd(() => void other.stop(true));
  const visit = await OperatorPage.open(other.url.href);
  const outcomes = await visit.page.evaluate<string[]>(`Promise.all([
    fetch("${url}api/admin/v1/access").then(() => "read", () => "refused"),
    fetch("${url}api/admin/v1/access/tokens", { method: "POST", body: '{"name":"forged"}' })
      .then(() => "created", () => "refused"),
    fetch("${url}api/admin/v1/access/tokens", {
      method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" },
      body: '{"name":"forged"}',
    }).then(({ status }) => "answered " + status, () => "refused"),
  ])`);
  const expected = ["refused", "refused", "answered 0"];
  check(
    "a page of another site cannot read the admin API",
    Bun.deepEquals(outcomes, expected),
    outcomes,
  );
  const { tokens } = await readAccess(url, token);
  check(
    "a page of another site cannot create a token",
    tokens.every(({ name }) => name !== "forged"),
    tokens,
  );
  await visit.close();
  await other.stop(true);
}

/** A host name that resolves to the server but that is not configured as a name of the server. */
async function checkUnknownHostName({ url }: ServedSite): Promise<void> {
  const browser = await startChromium({ "berth.example": "127.0.0.1" });
  const page = await openPage(browser);
  const answer = await page.goto(url.replace("127.0.0.1", "berth.example"));
  check(
    "a request with an unknown host name is refused with 421",
    answer?.status() === 421,
    answer?.status(),
  );
  check(
    "the answer to an unknown host name says which names are accepted",
    (await page.locator("body").textContent())?.includes("use its IP address, localhost") === true,
  );
  await browser.close();
}

/** Plain HTTP at the machine's network address: the same as from another machine. */
async function checkPlainHttpOverNetwork(folder: string, token: string): Promise<void> {
  const address = Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry?.family === "IPv4" && !entry.internal)?.address;
  if (address === undefined)
    return skip("sign-in over plain HTTP from the network", "this machine has no network address");
  const running = await startBinary("serve", "--data", folder, "--listen", `${address}:0`);
  atEnd(() => void running.kill());
  const visit = await OperatorPage.open(running.url);
  const { page } = visit;
  await page.getByRole("heading", { name: "HTTPS required" }).waitFor();
  check("over plain HTTP from the network the page does not ask for a token", true);
  check(
    "over plain HTTP from the network the page shows how to set up TLS",
    await isShown(page.getByText("berth tls init", { exact: true })),
  );
  await visit.checkLayouts("plain-http");
  const requestsWithToken: string[] = [];
  page.on("request", (request) => {
    if (request.headers()["authorization"] !== undefined) requestsWithToken.push(request.url());
  });
  await page.getByText("Sign in over plain HTTP anyway").click();
  check(
    "over plain HTTP no token is sent before the operator insists",
    requestsWithToken.length === 0,
    requestsWithToken,
  );
  await enter(visit, token);
  await page.getByText("Sign in over plain HTTP").waitFor({ state: "detached" });
  check(
    "a sign-in over plain HTTP from the network is refused with the same explanation",
    await isShown(page.getByRole("heading", { name: "HTTPS required" })),
  );
  await end(visit, "plain HTTP from the network");
  await running.stop();
}

async function checkTls(folder: string, token: string): Promise<void> {
  BERTH_COMMANDS.run("tls", "init", "--data", folder);
  const running = await serveSite(folder, "--listen-tls", "127.0.0.1:0");
  const url = /https:\/\/[^\s,]+/.exec(running.output)?.[0] ?? "";
  const visit = await OperatorPage.open(url, { ignoreHTTPSErrors: true });
  const { page } = visit;
  await enter(visit, token);
  await page.getByText("live", { exact: true }).waitFor();
  check(
    "over TLS signing in with a token works, and the page gets live updates",
    page.url().startsWith("https:"),
    url,
  );
  await page.goto(`${url}#/settings/network`);
  await page.getByText("Valid until").waitFor();
  check("over TLS the network settings show when the certificate expires", true);
  await end(visit, "TLS");
  await running.stop();
}

async function checkDemo(): Promise<void> {
  const folder = join(makeTempFolder(), "demo");
  const running = await startBinary("demo", "--data", folder, "--listen", "127.0.0.1:0");
  atEnd(() => void running.kill());
  const visit = await OperatorPage.open(running.url);
  await visit.page.getByText("Demo: for evaluation").waitFor();
  check(
    "a demo needs no sign-in, and the page says that it is a demo",
    await isShown(visit.page.getByRole("heading", { name: "DEMO" }).first()),
  );
  await visit.checkLayouts("demo");
  await end(visit, "a demo");
  await running.stop();
}

async function enter({ page }: OperatorPage, token: string): Promise<void> {
  await page.getByLabel("Administration token").fill(token);
  await page.getByLabel("Administration token").press("Enter");
}

async function end(visit: OperatorPage, scenario: string): Promise<void> {
  visit.checkNoErrors(scenario);
  await visit.close();
}

interface Access {
  readonly tokens: readonly { readonly name: string }[];
}

function headersOf(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}`, "content-type": "application/json" };
}

async function readAccess(url: string, token: string): Promise<Access> {
  const answer = await fetch(`${url}api/admin/v1/access`, { headers: headersOf(token) });
  return (await answer.json()) as Access;
}

/** Calls an access route of the admin API. */
async function sendAccessRequest(
  url: string,
  token: string,
  route: string,
  body: Readonly<Record<string, string>>,
): Promise<{ readonly token: string }> {
  const path = `${url}api/admin/v1/access/${route}`;
  const init = { method: "POST", headers: headersOf(token), body: JSON.stringify(body) };
  const answer = await fetch(path, init);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as { token: string };
}
