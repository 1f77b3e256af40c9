// The first visit, and every later one: from an appliance that nobody has closed yet to a token that
// only this tab knows, and what each closed door says to whoever stands before it.
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
const token = await firstVisit(site);
await laterVisits(site, token);
await withPassword(site, token);
await sessionThatEnds(site, token);
await fromAnotherSite(site, token);
await byAnotherName(site);
await site.stop();
await overTheNetwork(site.folder, token);
await overTls(site.folder, token);
await demo();
finish();

async function firstVisit({ url }: ServedSite): Promise<string> {
  const visit = await OperatorPage.open(url);
  const { page } = visit;
  await page.getByText("Anybody on this machine can administer").waitFor();
  check(
    "a first visit shows that there is no license yet",
    await isShown(page.getByText("No license yet")),
  );
  await visit.checkLayouts("first-visit");
  const isDark = `getComputedStyle(document.body).backgroundColor === "rgb(15, 23, 25)"`;
  await page.getByRole("button", { name: "Switch to dark" }).click();
  check("who wants it dark has it dark", await visit.isEventually(isDark));
  await page.getByRole("button", { name: "Switch to light" }).click();
  check("and light again", await visit.isEventually(`!(${isDark})`));
  await page.getByRole("button", { name: "Make the token" }).click();
  const made = (await page.locator("dialog code").textContent()) ?? "";
  check("the token is shown once", made.startsWith("berth_"), made.length);
  await visit.checkLayouts("the-token");
  await page.getByRole("button", { name: "I have kept it" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  check(
    "and this tab is signed in with it",
    await isShown(page.getByText("live", { exact: true })),
  );
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const stored = await page.evaluate(
    `JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])`,
  );
  check("a reload forgets the token: it is kept nowhere", stored === '[{},{},""]', stored);
  await end(visit, "the first visit");
  return made;
}

async function laterVisits({ url }: ServedSite, token: string): Promise<void> {
  const visit = await OperatorPage.open(url);
  const { page } = visit;
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await visit.checkLayouts("sign-in");
  await enter(visit, "berth_wrong");
  await page.getByRole("alert").waitFor();
  check("a wrong one is said to be wrong", await isShown(page.getByText("That was not accepted.")));
  await enter(visit, token);
  await page.getByRole("navigation").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  check("signing out leads back", await isShown(page.getByLabel("Administration token")));
  await end(visit, "later visits");
}

async function withPassword({ url }: ServedSite, token: string): Promise<void> {
  await act(url, token, "users", { name: HOSTILE, role: "admin", password: PASSWORD });
  await act(url, token, "users", { name: "ada", role: "user", password: PASSWORD });
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
  check("a wrong password is told beside it", await isShown(form.getByRole("alert")));
  await login("ada", PASSWORD);
  await page.getByText("this operation needs an administrator").waitFor();
  check("so is a login that may not administer", await isShown(form.getByRole("alert")));
  await visit.checkLayouts("sign-in-refused");
  await login(HOSTILE, PASSWORD);
  await page.getByRole("navigation").waitFor();
  await page.goto(`${url}#/settings`);
  const own = page.getByRole("listitem").filter({ hasText: HOSTILE });
  await own.waitFor();
  check("a password lets in, whatever the name", await isShown(own.getByText("you")));
  await end(visit, "a password");
}

/** The token is taken away while somebody works; with another, they are where they were. */
async function sessionThatEnds({ url, folder }: ServedSite, token: string): Promise<void> {
  const { token: brief } = await act(url, token, "tokens", { name: "brief" });
  const visit = await OperatorPage.open(`${url}#/settings/trust`);
  const { page } = visit;
  await enter(visit, brief);
  await page.getByText("No vendor is trusted yet").waitFor();
  BERTH_COMMANDS.run("admin", "token", "--revoke", "brief", "--data", folder);
  await page.getByText("Please sign in again").waitFor();
  check("whoever is signed out meanwhile is told, without touching anything", true);
  await visit.checkLayouts("signed-out-meanwhile");
  await enter(visit, token);
  await page.getByText("No vendor is trusted yet").waitFor();
  check("and comes back to the same place", page.url().endsWith("#/settings/trust"), page.url());
  await end(visit, "a session that ends");
}

/** A page of somebody else's, in the browser of whoever administers. */
async function fromAnotherSite({ url }: ServedSite, token: string): Promise<void> {
  const other = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response("<!doctype html><title>other</title>", { headers: HTML }),
  });
  atEnd(() => void other.stop(true));
  const visit = await OperatorPage.open(other.url.href);
  const reached = await visit.page.evaluate<string[]>(`Promise.all([
    fetch("${url}api/admin/v1/access").then(() => "read", () => "refused"),
    fetch("${url}api/admin/v1/access/tokens", { method: "POST", body: '{"name":"theirs"}' })
      .then(() => "made", () => "refused"),
    fetch("${url}api/admin/v1/access/tokens", {
      method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" },
      body: '{"name":"theirs"}',
    }).then(({ status }) => "answered " + status, () => "refused"),
  ])`);
  const expected = ["refused", "refused", "answered 0"];
  check("another site's page reads nothing", Bun.deepEquals(reached, expected), reached);
  const { tokens } = await access(url, token);
  check(
    "and changes nothing",
    tokens.every(({ name }) => name !== "theirs"),
    tokens,
  );
  await visit.close();
  await other.stop(true);
}

/** A name that leads here and that nobody gave the server. */
async function byAnotherName({ url }: ServedSite): Promise<void> {
  const browser = await startChromium({ "berth.example": "127.0.0.1" });
  const page = await openPage(browser);
  const answer = await page.goto(url.replace("127.0.0.1", "berth.example"));
  check("a strange name is refused", answer?.status() === 421, answer?.status());
  check(
    "and the visitor reads by which to call it",
    (await page.locator("body").textContent())?.includes("by its address, by localhost") === true,
  );
  await browser.close();
}

/** In plain HTTP, by the machine's own address: as from any other machine. */
async function overTheNetwork(folder: string, token: string): Promise<void> {
  const address = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === "IPv4" && !one.internal)?.address;
  if (address === undefined) return skip("a visitor from the network", "there is none here");
  const running = await startBinary("serve", "--data", folder, "--listen", `${address}:0`);
  atEnd(() => void running.kill());
  const visit = await OperatorPage.open(running.url);
  const { page } = visit;
  await page.getByRole("heading", { name: "Come in by https" }).waitFor();
  check("from afar nobody is asked for a token in the clear", true);
  check(
    "but told how to come in instead",
    await isShown(page.getByText("berth tls init", { exact: true })),
  );
  await visit.checkLayouts("plain-http");
  const heard: string[] = [];
  page.on("request", (request) => {
    if (request.headers()["authorization"] !== undefined) heard.push(request.url());
  });
  await page.getByText("Sign in over plain HTTP all the same").click();
  check("nothing secret has crossed until then", heard.length === 0, heard);
  await enter(visit, token);
  await page.getByText("Sign in over plain HTTP").waitFor({ state: "detached" });
  check(
    "whoever insists is refused, and told the same",
    await isShown(page.getByRole("heading", { name: "Come in by https" })),
  );
  await end(visit, "plain HTTP from afar");
  await running.stop();
}

async function overTls(folder: string, token: string): Promise<void> {
  BERTH_COMMANDS.run("tls", "init", "--data", folder);
  const running = await serveSite(folder, "--listen-tls", "127.0.0.1:0");
  const url = /https:\/\/[^\s,]+/.exec(running.output)?.[0] ?? "";
  const visit = await OperatorPage.open(url, { ignoreHTTPSErrors: true });
  const { page } = visit;
  await enter(visit, token);
  await page.getByText("live", { exact: true }).waitFor();
  check("over TLS a token lets in, and the page lives", page.url().startsWith("https:"), url);
  await page.goto(`${url}#/settings/network`);
  await page.getByText("Valid until").waitFor();
  check("and its certificate is told", true);
  await end(visit, "TLS");
  await running.stop();
}

async function demo(): Promise<void> {
  const folder = join(makeTempFolder(), "demo");
  const running = await startBinary("demo", "--data", folder, "--listen", "127.0.0.1:0");
  atEnd(() => void running.kill());
  const visit = await OperatorPage.open(running.url);
  await visit.page.getByText("Demo: for trying").waitFor();
  check(
    "nobody signs in to a demo, and the page says that it is one",
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

async function end(visit: OperatorPage, what: string): Promise<void> {
  visit.checkNoErrors(what);
  await visit.close();
}

interface Access {
  readonly tokens: readonly { readonly name: string }[];
}

function headersOf(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}`, "content-type": "application/json" };
}

async function access(url: string, token: string): Promise<Access> {
  const answer = await fetch(`${url}api/admin/v1/access`, { headers: headersOf(token) });
  return (await answer.json()) as Access;
}

/** As an operator by the API. */
async function act(
  url: string,
  token: string,
  what: string,
  body: Readonly<Record<string, string>>,
): Promise<{ readonly token: string }> {
  const path = `${url}api/admin/v1/access/${what}`;
  const sent = { method: "POST", headers: headersOf(token), body: JSON.stringify(body) };
  const answer = await fetch(path, sent);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as { token: string };
}
