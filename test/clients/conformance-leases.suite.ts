// The clients for Python, C and JavaScript accept the leases of a real server, and refuse everything
// else with the same codes as each other.
//
//   bun run test:clients conformance-leases                  all clients
//   BERTH_CLIENT=c bun run test:clients conformance-leases   one of python, c, node and bun
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { publicPart } from "../../src/license/documents/keys.ts";
import { codeBlocksIn } from "../support/documents.ts";
import { mutateDocument } from "../support/mutate-document.ts";
import { chooseSize, createRandom, makeTempFolder, seed } from "../support/suite-harness.ts";
import { prepareDriver, selectedClients } from "./conformance/clients.ts";
import { Driver } from "./conformance/driver.ts";
import type { LeaseCase } from "./conformance/lease-cases.ts";
import { payloadOf } from "./conformance/lease-documents.ts";
import {
  issuer,
  judge,
  LEASE_CASES,
  verify,
  verifyWithExample,
} from "./conformance/lease-scenarios.ts";
import { findPythons, prepareEnvironment } from "./conformance/python-builds.ts";
import { hoursFromNow } from "./conformance/world.ts";
import { RETIRED_KEY, VENDOR_KEY } from "../vectors/generate.ts";
import { BAD_LICENSES, GOOD_LICENSES, RETIRED_LICENSE } from "../vectors/verdicts.ts";

const VECTORS = join(import.meta.dir, "../vectors/documents");

const MUTATIONS = chooseSize(400, 20_000);

const titleOf = ({ title, refusals }: LeaseCase): string =>
  `${refusals === null ? "accepts" : "refuses"} ${title}`;

describe("the lease check in the guide", () => {
  for (const leaseCase of LEASE_CASES) {
    const { refusals, differsFromExample } = leaseCase;
    if (differsFromExample) continue;
    test(titleOf(leaseCase), async () => {
      const verdict = await judge(leaseCase, verifyWithExample);
      if (refusals === null) expect(verdict).toBeNull();
      else expect(verdict).not.toBeNull();
    });
  }
});

describe("the license check in the guide for PyJWT", () => {
  const verdicts = [...GOOD_LICENSES, ...BAD_LICENSES];
  // PyJWT refuses these texts before the check, which another library accepts.
  const isRefused = new Set(["bad-kid-not-text", "bad-line-break"]);
  const expected = new Map([
    ...verdicts.map(
      ({ name, isAcceptedByLibrary }) =>
        [name, isAcceptedByLibrary && !isRefused.has(name)] as const,
    ),
    [RETIRED_LICENSE, true],
    [`${RETIRED_LICENSE} with its key in the list`, false],
  ]);
  const accepted = new Map<string, boolean>();

  beforeAll(async () => {
    const [python = ""] = findPythons().values();
    const environment = prepareEnvironment(python, ["PyJWT", "cryptography"]);
    const folder = makeTempFolder();
    const example = codeBlocksIn("python").find(({ text }) => text.includes("def check_license("));
    writeFileSync(join(folder, "check_license.py"), example?.text ?? "");
    const inputs = [...expected.keys()].map((title) => ({
      license: readFileSync(join(VECTORS, `${title.split(" ")[0]}.jwt`), "utf8"),
      root_key: publicPart(VENDOR_KEY),
      retired: title.includes(" ") ? [RETIRED_KEY.x] : [],
    }));
    const program = join(import.meta.dir, "conformance/builds/licenses.py");
    const child = Bun.spawn([join(environment, "bin", "python"), "-B", program], {
      env: { PYTHONPATH: folder },
      stdin: Buffer.from(JSON.stringify(inputs)),
      stdout: "pipe",
    });
    const results = (await new Response(child.stdout).json()) as boolean[];
    [...expected.keys()].forEach((title, index) => accepted.set(title, results[index] ?? false));
  });

  test.each([...expected])("%s is accepted: %p", (title, isAccepted) => {
    expect(accepted.get(title)).toBe(isAccepted);
  });
});

let demoUrl = "";
let rootKey = "";
let airgapBody = "";
/** The license as a JWT; another one by code is added later. */
let signedId = 0;
let server: ServerProcess;

beforeAll(async () => {
  const folder = join(makeTempFolder(), "demo");
  server = await startBinary("demo", "--data", folder, "--listen", "127.0.0.1:0");
  demoUrl = server.url;
  const trust = readFileSync(join(folder, "demo", "vendor", "trust.jwt"), "utf8");
  rootKey = (payloadOf(trust)["jwk"] as { readonly x: string }).x;
  const shown = await fetch(`${demoUrl}/api/v4/license?product=DEMO`);
  signedId = ((await shown.json()) as { readonly id: number }).id;
  airgapBody = readFileSync(join(folder, "demo", "airgap-license.json"), "utf8");
});

afterAll(() => server.kill());

for (const client of selectedClients) {
  describe(client, () => {
    let driver: Driver;

    beforeAll(() => {
      driver = new Driver(prepareDriver(client));
    });

    afterAll(async () => {
      expect((await driver.end()).code).toBe(0);
    });

    for (const leaseCase of LEASE_CASES) {
      if (leaseCase.isImpossibleInC && client === "c") continue;
      test(titleOf(leaseCase), async () => {
        const { refusals } = leaseCase;
        const verdict = await judge(leaseCase, (input) => verify(driver, input));
        if (refusals === null) expect(verdict).toBeNull();
        else
          expect(refusals.map((code) => `LeaseRefused ${code}`)).toContain(verdict ?? "accepted");
      });
    }

    test("accepts no random change of a lease or a license", async () => {
      const random = createRandom(seed);
      const license = issuer.license();
      const lease = issuer.lease(license);
      const accepted: string[] = [];
      for (let round = 0; round < MUTATIONS; round += 1) {
        const isLease = random() < 0.5;
        const mutated = mutateDocument(isLease ? lease : license, random);
        if (mutated === lease || mutated === license) continue;
        const input = isLease ? { license, lease: mutated } : { license: mutated, lease };
        if ((await verify(driver, input)) === null) accepted.push(mutated);
      }
      expect(accepted, `SEED=${seed}`).toEqual([]);
    });

    test("accepts no random change of a bundle that the guide's check refuses", async () => {
      const random = createRandom(seed + 1);
      const bundle = await issuer.bundle();
      const lease = issuer.leaseByCode(bundle);
      const text = JSON.stringify(bundle);
      const accepted: string[] = [];
      for (let round = 0; round < MUTATIONS; round += 1) {
        const license = mutateDocument(text, random);
        // A text of C ends there, so the driver would check another one.
        if (client === "c" && license.includes("\0")) continue;
        if ((await verify(driver, { license, lease })) !== null) continue;
        if ((await verifyWithExample({ license, lease })) !== null) accepted.push(license);
      }
      expect(accepted, `SEED=${seed}`).toEqual([]);
    });

    test("accepts a lease that it borrowed from a server", async () => {
      const { borrowed, name } = await borrow(driver, `${client}-borrower`);
      const { lease, license, borrowed_until, license_id } = borrowed;
      const checked = await driver.request("verify", { client: name, lease, license });
      const { serial } = payloadOf(license);
      expect(checked).toEqual({
        user: `${client}-borrower`,
        license_id,
        expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        product: "DEMO",
        serial: serial as number,
      });
      const late = Date.parse(borrowed_until) - Date.parse(checked.expires_at);
      expect(late).toBeWithin(0, 1_001);
    });

    test("refuses a lease that it borrowed, on another device", async () => {
      const { borrowed } = await borrow(driver, `${client}-replayer`);
      const { lease, license } = borrowed;
      const input = { lease, license, rootKeys: [rootKey], product: "DEMO" };
      const verdict = await verify(driver, { ...input, nonce: "device-9876543210" });
      expect(verdict).toBe("LeaseRefused other_device");
    });

    test("accepts a lease under a license by code from a server", async () => {
      const added = await fetch(`${demoUrl}/api/v4/airgap/license`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: airgapBody,
      });
      // Another client has added it already.
      const id = ((await added.json()) as { id?: number }).id ?? airgapId;
      airgapId = id;
      const { borrowed, name } = await borrow(driver, `${client}-by-code`, id);
      const { lease, license } = borrowed;
      expect(license).toStartWith("{");
      const checked = await driver.request("verify", { client: name, lease, license });
      expect([checked.user, checked.license_id]).toEqual([`${client}-by-code`, id ?? 0]);
    });

    test("still runs after the cases and refuses a client without root keys", async () => {
      const name = `${client}-without-keys`;
      await driver.request("client", { client: name, urls: [demoUrl], product: "DEMO" });
      const license = issuer.license();
      const fields = { client: name, lease: issuer.lease(license), license };
      expect((await driver.requestError("verify", fields)).kind).toBe("InvalidArgument");
    });
  });
}

let airgapId: number | undefined;

/** Borrows a slot of the demo, and returns the slot to it. */
async function borrow(driver: Driver, user: string, license_id = signedId) {
  const name = `demo-${user}`;
  const nonce = "device-0123456789";
  const options = { urls: [demoUrl], product: "DEMO", nonce, root_keys: [rootKey] };
  await driver.request("client", { client: name, ...options });
  const fields = { client: name, user, license_id, until: hoursFromNow(1) };
  const borrowed = await driver.request("borrow", fields);
  await driver.request("release_user", { client: name, user });
  return { borrowed, name };
}
