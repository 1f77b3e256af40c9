// Two hosts of a pair with a real database: what the page of each shows while it leads, while it is
// on standby, and while its host or the database is away.
import { beforeAll, describe, expect, test } from "bun:test";
import { PostgresCluster } from "../pair/postgres-cluster.ts";
import { handOverTo, startPair, type RunningHost } from "../pair/running-host.ts";
import { atEnd } from "../support/suite-harness.ts";
import { createToken, expectEventually, openSignedIn, OperatorPage } from "./operator-page.ts";

let cluster: PostgresCluster;
let alpha: RunningHost;
let beta: RunningHost;
let token: string;
let viewerToken: string;

beforeAll(async () => {
  cluster = PostgresCluster.start();
  atEnd(() => cluster.remove());
  [alpha, beta] = await startPair(cluster);
  token = await createToken(alpha.site);
  viewerToken = await createToken(alpha.site, "watcher", "viewer");
});

/** Lets the host lead, by whatever host does now. */
const letLead = (host: RunningHost): Promise<void> =>
  handOverTo(host, host === alpha ? beta : alpha);

const openHealth = (host: RunningHost, by = token): Promise<OperatorPage> =>
  openSignedIn(host.site, by, "#/health");

/** The cells of a host's row. */
const rowOf = ({ page }: OperatorPage, host: RunningHost) =>
  page.getByRole("region", { name: "Pair" }).getByRole("row").filter({ hasText: host.name });

describe("the page of the leader", () => {
  test("shows both hosts with their roles, reports, lag, clocks and addresses", async () => {
    await letLead(alpha);
    const opened = await openHealth(alpha);
    await rowOf(opened, alpha).getByText("leads").waitFor();
    await rowOf(opened, alpha).getByText("this host").waitFor();
    await rowOf(opened, beta).getByText("on standby").waitFor();
    await rowOf(opened, beta)
      .getByText(/^\d s ago$/)
      .waitFor();
    await rowOf(opened, beta).getByText("up to date").waitFor();
    await rowOf(opened, beta).getByText(beta.url).waitFor();
    await opened.page.getByText(/changes are on one database server only/).waitFor();
    await opened.page.getByText(/The database has no standby/).waitFor();
    await opened.checkLayouts("pair-leader");
  });

  test("has no button for a viewer", async () => {
    await letLead(alpha);
    const opened = await openHealth(alpha, viewerToken);
    await rowOf(opened, beta).getByText("on standby").waitFor();
    expect(await opened.page.getByRole("button", { name: /^Hand over/ }).count()).toBe(0);
  });

  test("hands over after a confirmation, then shows only where the leader is", async () => {
    await letLead(alpha);
    const opened = await openHealth(alpha);
    const { page } = opened;
    await page.getByRole("button", { name: "Hand over to beta" }).click();
    const dialog = page.getByRole("dialog", { name: "Let beta lead?" });
    await dialog.getByText(/not answered for up to 2 seconds/).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await alpha.health()).toBe(200);
    await page.getByRole("button", { name: "Hand over to beta" }).click();
    await dialog.getByRole("button", { name: "Hand over" }).click();
    await page.getByRole("heading", { name: "On standby" }).waitFor();
    await expectEventually(() => beta.health(), 200);
    const link = page.getByRole("link", { name: `Open ${beta.url}` });
    expect(await link.getAttribute("href")).toBe(`${beta.url}/#/health`);
    expect(await page.getByRole("region", { name: "Pair" }).count()).toBe(0);
    expect(await page.getByRole("navigation").count()).toBe(0);
    expect(await page.getByText("Live").count()).toBe(0);
    expect(await page.title()).toContain("On standby");
    await opened.checkLayouts("pair-standby");
  });
});

describe("the request wizard", () => {
  test("asks for which hosts, says why two are refused, and requests one", async () => {
    await letLead(alpha);
    const { page } = await openSignedIn(alpha.site, token, "#/licenses/request/CAD");
    const hosts = page.getByLabel("Hosts");
    // The installed license is for one host.
    await hosts.waitFor();
    expect(await hosts.inputValue()).toBe("1");
    await hosts.selectOption("Both: alpha and beta");
    await page.getByRole("button", { name: "Create the request" }).click();
    await page.getByText(/hosts alpha and beta have the same hardware/).waitFor();
    await hosts.selectOption("Only alpha, which leads now");
    await page.getByRole("button", { name: "Create the request" }).click();
    await page.getByRole("heading", { name: "Step 3 of 5: Request" }).waitFor();
    await page.getByText(/license request .*--hosts 1 /).waitFor({ state: "attached" });
    expect(await page.getByText("alpha and beta").count()).toBe(0);
  });
});

describe("a page that was open when its host stopped leading", () => {
  test("shows no figures, and continues by itself when its host leads again", async () => {
    await letLead(alpha);
    const opened = await openSignedIn(alpha.site, token, "#/");
    const { page } = opened;
    await page.getByText("Live").waitFor();
    await letLead(beta);
    await page.getByRole("heading", { name: "On standby" }).waitFor();
    expect(await page.getByRole("heading", { name: "Overview" }).count()).toBe(0);
    await letLead(alpha);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByText("Live").waitFor();
    expect(await page.getByText("On standby").count()).toBe(0);
  });

  test("says so also before signing in, and then shows the sign-in again", async () => {
    await letLead(alpha);
    const opened = await OperatorPage.open(alpha.url);
    const { page } = opened;
    await page.getByLabel("Administration token").waitFor();
    await letLead(beta);
    await opened.signIn(token);
    await page.getByRole("heading", { name: "On standby" }).waitFor();
    await letLead(alpha);
    await page.getByLabel("Administration token").waitFor();
  });
});

test("a browser that opens a host on standby gets a link to the leader", async () => {
  await letLead(alpha);
  const opened = await OperatorPage.open(beta.url);
  const { page } = opened;
  await page.getByRole("heading", { name: "This host is on standby" }).waitFor();
  const link = page.getByRole("link", { name: alpha.url });
  expect(await link.getAttribute("href")).toBe(alpha.url);
  await opened.checkAccessibility("standby of a pair, before the page");
});

test("without the database the page says that no host answers, and continues after it", async () => {
  await letLead(alpha);
  const opened = await openHealth(alpha);
  const { page } = opened;
  await rowOf(opened, beta).getByText("on standby").waitFor();
  cluster.stopServer("fast");
  await page.getByRole("heading", { name: "No host answers now" }).waitFor();
  await page.getByText(/The other host, beta, may lead/).waitFor();
  expect(await page.getByRole("region", { name: "Pair" }).count()).toBe(0);
  await opened.checkLayouts("pair-no-database");
  cluster.startServer();
  await expectEventually(
    async () => [await alpha.health(), await beta.health()].includes(200),
    true,
  );
  await letLead(alpha);
  await rowOf(opened, beta).getByText("on standby").waitFor();
});

test("the page of a host that was killed names the other host", async () => {
  await letLead(alpha);
  const opened = await openHealth(alpha);
  const { page } = opened;
  await rowOf(opened, beta).getByText("on standby").waitFor();
  await alpha.kill();
  await page.getByText("This host does not answer").waitFor();
  await page.getByText(/^Reconnecting… as of \d/).waitFor();
  await page.getByRole("link", { name: `Open ${beta.url}` }).waitFor();
  await expectEventually(() => beta.health(), 200);
  await alpha.start();
  await page.getByRole("heading", { name: "On standby" }).waitFor();
});
