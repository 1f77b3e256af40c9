import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OfflineExchange } from "../../../support/offline-exchange.ts";
import { runBerth, runJsonOrThrow, runOrThrow } from "../../../support/run-berth.ts";
import { bothFolders } from "../../../support/vendor-commands.ts";

test("berth vendor answer --reissue writes the trust document beside the licenses", async () => {
  const exchange = new OfflineExchange();
  await exchange.open("CAD");
  const { deskFlags } = exchange;
  await exchange.requestAndIssue("CAD", "--valid-until", "never");
  const code = ["airgap", "request", "--license-key", "K-1", ...exchange.dataFlags];
  const { activation_code } = await runJsonOrThrow<{ activation_code: string }>(code);
  const policy = exchange.path("policy.jwt");
  const terms = ["--policy-id", "p", "--product", "CAD", "--valid-until", "never"];
  await runOrThrow(["vendor", "policy", ...deskFlags, ...terms, "--out", policy]);
  const activation = ["--license-key", "K-1", "--activation-code", activation_code];
  const confirm = ["vendor", "confirm", ...deskFlags, "--policy", policy, ...activation];
  await runOrThrow([...confirm, "--allow-weak-binding"]);
  const keyFlags = bothFolders(exchange.path("desk"));
  await runOrThrow(["vendor", "key", "retire", "--all", ...keyFlags, "--yes"]);
  await runOrThrow(["vendor", "key", "new", ...keyFlags, "--no-passphrase"]);
  const [inbox, out] = [exchange.path("inbox"), exchange.path("out")];
  mkdirSync(inbox);
  const answer = ["vendor", "answer", inbox, "--reissue", "--out-dir", out, ...deskFlags];
  const { code: exitCode, stderr } = await runBerth(answer);

  expect(exitCode).toBe(3);
  expect(stderr).toContain("0 documents, 1 license signed again\n");
  const trust = readFileSync(exchange.path("desk", "trust.jwt"), "utf8");
  expect(readFileSync(`${out}/trust.jwt`, "utf8")).toBe(trust);
});

test("berth vendor order import --dry-run names new customers", async () => {
  const exchange = new OfflineExchange();
  await exchange.makeDesk("CAD");
  const file = exchange.path("orders.csv");
  writeFileSync(file, "customer,product,valid_until\nInitech,CAD,never\n");
  const command = ["vendor", "order", "import", file, "--dry-run", ...exchange.deskFlags];
  const { orders } = await runJsonOrThrow<{ orders: readonly object[] }>(command);

  expect(orders).toMatchObject([{ customer: { id: "cust-1", name: "Initech" } }]);
});

test("berth vendor answer quotes the name of a file in a command to copy", async () => {
  const exchange = new OfflineExchange();
  await exchange.open("CAD");
  const { deskFlags, dataFlags } = exchange;
  const key = "PROFILE-1";
  const order = ["--customer", "Initech", "--product", "CAD", "--valid-until", "never"];
  const size = ["--license-key", key, "--allow-weak-binding"];
  await runOrThrow(["vendor", "order", "add", ...deskFlags, ...order, ...size]);
  const inbox = exchange.path("inbox");
  mkdirSync(inbox);
  const file = join(inbox, "a;touch $'.jwt");
  const request = ["license", "request", ...dataFlags, "--product", "CAD", "--license-key", key];
  await runOrThrow([...request, "--out", file]);
  const { stdout } = await runBerth(["vendor", "answer", inbox, ...deskFlags]);

  const quoted = `'${inbox}/a;touch $'\\''.jwt'`;
  expect(stdout).toContain(`  hint: berth vendor issue --request ${quoted} decides it\n`);
});
