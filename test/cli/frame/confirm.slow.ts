import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { wallClock } from "../../../src/platform/clock.ts";
import { commands } from "../../../src/cli/command-table.ts";
import { runWithAnswer, runBerth, runOrThrow, runJsonOrThrow } from "../../support/run-berth.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { CONTACT } from "../../support/scenario.ts";
import { makeLicensedSite, openSiteFolder } from "../../support/site-folder.ts";
import { tempFolder } from "../../support/temp-folder.ts";

interface ConfirmedCommand {
  readonly words: readonly string[];
  /** Whether the command has taken effect. */
  readonly isDone: () => Promise<boolean>;
}

interface Desk {
  readonly products: readonly string[];
}

async function takeSlot(folder: string): Promise<void> {
  const site = await openSiteFolder(folder, wallClock);
  const target = { product: "cad", user: "ada", licenseId: null };
  const input = { ...target, contact: CONTACT, identity: null, nonce: null };
  unwrap(await site.slots.register(input));
  await site.close();
}

interface ListedOrder {
  readonly license_key: string;
  readonly state: string;
  readonly holders: number;
}

/** A site and a desk that each have a license; each test has a copy of both. */
const original = mkdtempSync(join(tmpdir(), "berth-confirm-"));
let ids = { license: 0, issued: 0, request: "", order: "", activationCode: "" };

beforeAll(async () => {
  const root = original;
  const data = ["--data", join(root, "data")];
  const license = await makeLicensedSite(join(root, "data"), { product: "cad" });
  await takeSlot(join(root, "data"));
  const desk = ["--dir", join(root, "desk")];
  const initFlags = ["--name", "Acme", "--no-passphrase", "--product", "cam,cae"];
  await runOrThrow(["vendor", "init", ...desk, ...initFlags]);
  const issueFlags = [
    "--allow-weak-binding",
    "--valid-until",
    "never",
    "--out",
    join(root, "license.jwt"),
  ];
  const requestFlags = ["--product", "cam", "--out", join(root, "request.jwt")];
  await runOrThrow(["license", "request", ...requestFlags, ...data]);
  await runOrThrow([
    "vendor",
    "issue",
    ...desk,
    "--request",
    join(root, "request.jwt"),
    ...issueFlags,
  ]);
  const keyRequest = ["--no-passphrase", "--out", join(root, "key.request")];
  await runOrThrow(["vendor", "key", "new", ...desk, ...keyRequest]);
  const [request] = await runJsonOrThrow<{ id: string }[]>(["license", "requests", ...data]);
  const [issued] = await runJsonOrThrow<{ license_id: number }[]>(["vendor", "list", ...desk]);
  const { order, activationCode } = await makeOrders();
  const answered = { issued: issued?.license_id ?? 0, request: request?.id ?? "" };
  ids = { license, ...answered, order, activationCode };
});

/** Orders of two customers, one of them by telephone, and a desk from a backup of all that. */
async function makeOrders() {
  const desk = ["--dir", join(original, "desk")];
  const [policy, backup] = [join(original, "policy.jwt"), join(original, "orders.backup")];
  const terms = ["--product", "cam", "--valid-until", "never"];
  const policyFlags = ["--policy-id", "basic", "--out", policy];
  await runOrThrow(["vendor", "policy", ...desk, ...terms, ...policyFlags]);
  const add = (...flags: string[]) =>
    runJsonOrThrow<ListedOrder>(["vendor", "order", "add", ...desk, ...terms, ...flags]);
  await add("--customer", "Initrode");
  const weak = ["--allow-weak-binding", "--policy-id", "basic"];
  const { license_key: order } = await add("--customer", "Initech", ...weak);
  const csv = "customer,product,valid_until\nInitrode,cam,never\n";
  writeFileSync(join(original, "orders.csv"), csv);
  await runOrThrow(["vendor", "backup", backup, ...desk, "--yes"]);
  await runOrThrow(["vendor", "restore", backup, "--dir", join(original, "restored")]);
  const phone = join(original, "phone");
  await (await openSiteFolder(phone, wallClock)).close();
  const airgap = ["airgap", "request", "--data", phone, "--license-key", order];
  const { activation_code } = await runJsonOrThrow<{ activation_code: string }>(airgap);
  return { order, activationCode: activation_code };
}

afterAll(() => rmSync(original, { recursive: true, force: true }));

/** Every command that asks for confirmation. */
function prepareCommands(): Record<string, ConfirmedCommand> {
  const root = tempFolder();
  cpSync(original, root, { recursive: true });
  const data = ["--data", join(root, "data")];
  const desk = ["--dir", join(root, "desk")];
  const vendors = () => runJsonOrThrow<{ name: string }[]>(["trust", "list", ...data]);
  const slots = () => runJsonOrThrow<unknown[]>(["slots", ...data]);
  const licenses = () => runJsonOrThrow<{ id: number }[]>(["license", "list", ...data]);
  const requests = () => runJsonOrThrow<{ id: string }[]>(["license", "requests", ...data]);
  const rootFolder = ["--root", join(root, "desk-root")];
  const keyRequest = join(root, "key.request");
  const [certificate, nextTrust] = [join(root, "key.cert"), join(root, "next-trust.jwt")];
  const products = async () => (await runJsonOrThrow<Desk>(["vendor", "show", ...desk])).products;
  const [moved, bundle] = [join(root, "site.move"), join(root, "support.tar")];
  const backup = join(root, "desk.backup");
  const renewal = join(root, "renewal.jwt");
  const renewFlags = ["--renew", String(ids.issued), "--valid-until", "2020-01-01"];
  const orders = (folder = join(root, "desk")) =>
    runJsonOrThrow<ListedOrder[]>(["vendor", "order", "list", "--dir", folder]);
  const findOrder = async (folder?: string) =>
    (await orders(folder)).find(({ license_key }) => license_key === ids.order);
  const customers = () => runJsonOrThrow<unknown[]>(["vendor", "customer", "list", ...desk]);
  const restored = join(root, "restored");
  const isRestored = async () =>
    (await runJsonOrThrow<{ restored: boolean }>(["vendor", "restored", "--dir", restored]))
      .restored;
  const code = ["--license-key", ids.order, "--activation-code", ids.activationCode];
  return {
    "vendor order close": {
      words: ["vendor", "order", "close", ids.order, ...desk, "--reason", "entered twice"],
      isDone: async () => (await findOrder())?.state === "closed",
    },
    "vendor order import": {
      words: ["vendor", "order", "import", join(root, "orders.csv"), ...desk],
      isDone: async () => (await orders()).length === 3,
    },
    "vendor order adopt": {
      words: ["vendor", "order", "adopt", "--customer", "Globex", ...desk],
      isDone: async () => (await orders()).length === 3,
    },
    "vendor customer merge": {
      words: ["vendor", "customer", "merge", "Initrode", "--into", "Initech", ...desk],
      isDone: async () => (await customers()).length === 1,
    },
    "vendor restored": {
      words: ["vendor", "restored", "--dir", restored, "--end", "nothing was issued since"],
      isDone: async () => !(await isRestored()),
    },
    "vendor confirm": {
      words: [
        "vendor",
        "confirm",
        "--dir",
        restored,
        "--policy",
        join(root, "policy.jwt"),
        ...code,
      ],
      isDone: async () => (await findOrder(restored))?.holders === 1,
    },
    "trust add": {
      words: ["trust", "add", join(root, "desk", "trust.jwt"), ...data],
      isDone: async () => (await vendors()).some(({ name }) => name === "Acme"),
    },
    "license remove": {
      words: ["license", "remove", String(ids.license), ...data],
      isDone: async () => (await licenses()).length === 0,
    },
    release: {
      words: ["release", "--all", "--product", "cad", ...data],
      isDone: async () => (await slots()).length === 0,
    },
    "license cancel": {
      words: ["license", "cancel", ids.request, ...data],
      isDone: async () => (await requests()).length === 0,
    },
    "move out": { words: ["move", "out", moved, ...data], isDone: async () => existsSync(moved) },
    "vendor product remove": {
      words: ["vendor", "product", "remove", "cam", ...desk, ...rootFolder],
      isDone: async () => !(await products()).includes("cam"),
    },
    "vendor key certify": {
      words: ["vendor", "key", "certify", keyRequest, "--out", certificate, ...rootFolder],
      isDone: async () => existsSync(certificate),
    },
    "vendor key retire": {
      words: ["vendor", "key", "retire", "--all", "--out", nextTrust, ...rootFolder],
      isDone: async () => existsSync(nextTrust),
    },
    "vendor backup": {
      words: ["vendor", "backup", backup, ...desk],
      isDone: async () => existsSync(backup),
    },
    "vendor issue": {
      words: ["vendor", "issue", ...desk, ...renewFlags, "--out", renewal],
      isDone: async () => existsSync(renewal),
    },
    "support-bundle": {
      words: ["support-bundle", bundle, ...data],
      isDone: async () => existsSync(bundle),
    },
  };
}

const NAMES = [
  "trust add",
  "license remove",
  "release",
  "license cancel",
  "move out",
  "support-bundle",
  "vendor product remove",
  "vendor key certify",
  "vendor key retire",
  "vendor backup",
  "vendor issue",
  "vendor order close",
  "vendor order import",
  "vendor order adopt",
  "vendor customer merge",
  "vendor restored",
  "vendor confirm",
];

/**
 * Tested in test/binary/audit-damage.slow.ts, where there is damage to repair and to seal, and in
 * test/pair/membership.suite.ts, where there is a pair.
 */
const TESTED_ELSEWHERE = ["audit repair", "audit seal", "pair admit", "pair leave"];

/** It only prints: a test of its own below. */
const PRINTING = ["vendor root print"];

test("every command with the flag --yes has a test of its confirmation", () => {
  const confirmed = commands.filter(({ options }) => options.some(({ name }) => name === "yes"));
  expect(confirmed.map(({ name }) => name).toSorted()).toEqual(
    [...NAMES, ...TESTED_ELSEWHERE, ...PRINTING].toSorted(),
  );
});

function prepareCommand(name: string): ConfirmedCommand {
  const command = prepareCommands()[name];
  if (command === undefined) throw new Error(`${name} is not prepared`);
  return command;
}

describe("without a terminal", () => {
  test.each(NAMES)("berth %s does nothing unless --yes is given", async (name) => {
    const { words, isDone } = prepareCommand(name);
    // Standard input that is not a terminal is never taken as an answer.
    for (const stdin of ["", "yes\n", "no\n"]) {
      const { code, stderr } = await runBerth(words, { stdin });
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^berth: hint: .*--yes/m)]);
      expect(await isDone()).toBe(false);
    }
    await runOrThrow([...words, "--yes"]);
    expect(await isDone()).toBe(true);
  });
});

test("berth vendor root print prints no row of the root unless --yes is given", async () => {
  const root = tempFolder();
  cpSync(join(original, "desk-root"), root, { recursive: true });
  const words = ["vendor", "root", "print", "--root", root];
  const { rows } = await runJsonOrThrow<{ rows: string[] }>([...words, "--yes"]);
  expect(rows).toHaveLength(3);
  const refused = await runBerth(words, { stdin: "yes\n" });
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toMatch(/^berth: hint: .*--yes/m);
  for (const row of rows) expect(refused.stderr).not.toContain(row);
});

describe.skipIf(process.platform === "win32")("on a terminal", () => {
  test.each(NAMES)(
    "berth %s acts after the answer yes and changes nothing after no",
    async (name) => {
      const { words, isDone } = prepareCommand(name);
      const refused = await runWithAnswer(words, "n");
      expect([refused.code, refused.text]).toEqual([
        1,
        expect.stringMatching(/\[y\/N\] n\s+berth: error: nothing was changed/),
      ]);
      expect(await isDone()).toBe(false);
      const agreed = await runWithAnswer(words, "y");
      expect([agreed.code, agreed.text]).toEqual([0, expect.stringContaining("[y/N]")]);
      expect(await isDone()).toBe(true);
    },
  );

  test("berth license remove changes nothing when the terminal is closed before an answer", async () => {
    const { words, isDone } = prepareCommand("license remove");
    const { code } = await runWithAnswer(words, null);
    expect(code).not.toBe(0);
    expect(await isDone()).toBe(false);
  });
});
