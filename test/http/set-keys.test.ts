import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { socketGate } from "../../src/http/gate.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
  type RequestHeaders,
} from "../support/appliance.ts";
import { contentsOf } from "../support/temp-folder.ts";

const API = "canary-api-4f1e6b";
const SHARED = "canary-shared-9ac2d7";
const BOTH = { apiKey: API, sharedKey: SHARED };

interface SetKeysReply {
  readonly status: number;
  readonly updated: readonly string[];
}

interface GeneratedRequest {
  readonly request_id: string;
  readonly created_at: string;
  readonly hardware_id: string;
  readonly cloud_payload: string | null;
  readonly cloud_filename: string | null;
}

const byGet = (site: Appliance, keys: Record<string, string>, headers: RequestHeaders = {}) =>
  site.get<SetKeysReply>(`/api/v4/setKeys?${new URLSearchParams(keys).toString()}`, headers);
const byPost = (site: Appliance, keys: Record<string, unknown>, headers: RequestHeaders = {}) =>
  site.post<SetKeysReply>("setKeys", keys, headers);
const generate = async (site: Appliance, fields: object): Promise<GeneratedRequest> =>
  expectOk(await site.post<GeneratedRequest>("license/generate", { ...fields }));
const keysIn = (site: Appliance) => site.services.credentials.readPair();

describe.each([
  ["GET", byGet],
  ["POST", byPost],
] as const)("by %s", (_, set) => {
  test("both keys change in one step, and the answer names them without their values", async () => {
    const site = await openAppliance();
    const before = site.lastSeq();
    const answer = await set(site, BOTH);
    expect(expectOk(answer)).toEqual({ status: 200, updated: ["apiKey", "sharedKey"] });
    expect(await keysIn(site)).toEqual(BOTH);
    expect(site.lastSeq()).toBe(before + 1);
    expect(answer[0].headers.get("cache-control")).toBe("no-store");
    expect(JSON.stringify([...answer[0].headers])).not.toContain("canary");
  });

  test("one that is empty or absent stays as it is", async () => {
    const site = await openAppliance();
    expectOk(await set(site, BOTH));
    expect(expectOk(await set(site, { apiKey: "next-api" })).updated).toEqual(["apiKey"]);
    expect(await keysIn(site)).toEqual({ apiKey: "next-api", sharedKey: SHARED });
    const reply = expectOk(await set(site, { apiKey: "", sharedKey: "next-shared" }));
    expect(reply.updated).toEqual(["sharedKey"]);
    expect(await keysIn(site)).toEqual({ apiKey: "next-api", sharedKey: "next-shared" });
  });

  test("the same again, or nothing at all, is 200 and writes nothing", async () => {
    const site = await openAppliance();
    expectOk(await set(site, BOTH));
    const before = site.lastSeq();
    for (const keys of [BOTH, {}, { apiKey: "", sharedKey: "" }, { apiKey: API }]) {
      expect(expectOk(await set(site, keys))).toEqual({ status: 200, updated: [] });
    }
    expect(site.lastSeq()).toBe(before);
    expect(await keysIn(site)).toEqual(BOTH);
  });

  test("one alone is kept, and is not a pair yet", async () => {
    const site = await openAppliance();
    expectOk(await set(site, { sharedKey: SHARED }));
    expect(await keysIn(site)).toBeNull();
    expectOk(await set(site, { apiKey: API }));
    expect(await keysIn(site)).toEqual(BOTH);
  });

  test("a value is taken as it is, with every sign of a URL in it", async () => {
    const site = await openAppliance();
    const odd = { apiKey: "a+b/c==&d=%41 e#f?", sharedKey: "schlüssel 🔑" };
    expectOk(await set(site, odd));
    expect(await keysIn(site)).toEqual(odd);
  });

  test.each([
    ["too_long", { apiKey: `${API}${"x".repeat(4_096)}` }],
    ["invalid_characters", { apiKey: `${API}\u0007`, sharedKey: SHARED }],
    ["invalid_characters", { apiKey: API, sharedKey: `${SHARED}\n` }],
  ] as const)("%s changes neither, and the refusal does not quote", async (code, keys) => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, code, () => set(site, keys));
    expect(message).not.toContain("canary");
    expect(await keysIn(site)).toBeNull();
  });

  test("it is for an administrator on the machine itself", async () => {
    const site = await openAppliance();
    site.peer = "10.1.2.3";
    await expectRefusedUnchanged(site, 401, "unauthorized", () => set(site, BOTH));
    site.peer = "127.0.0.1";
    const proxied = { "x-forwarded-for": "10.1.2.3" };
    await expectRefusedUnchanged(site, 401, "unauthorized", () => set(site, BOTH, proxied));
    const named = { host: "rebound.example" };
    await expectRefusedUnchanged(site, 421, "wrong_host", () => set(site, BOTH, named));
    expect(await keysIn(site)).toBeNull();
  });

  test.each<RequestHeaders>([
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" },
    { "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" },
    { origin: "http://evil.example" },
    { origin: "null" },
    { referer: "http://evil.example/page" },
    { referer: "http://127.0.0.1:8080.evil.example/" },
  ])("a browser on its way from elsewhere is kept out: %j", async (headers) => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 403, "cross_site", () => set(site, BOTH, headers));
    expect(await keysIn(site)).toBeNull();
  });

  test("the folder holds neither key in any file", async () => {
    const site = await openAppliance();
    expectOk(await set(site, BOTH));
    await generate(site, { license_key: "K-1" });
    await site.stop();
    const files = contentsOf(site.folder);
    const found = Object.entries(files).filter(([, bytes]) => bytes.includes("canary"));
    expect(found.map(([name]) => name)).toEqual([]);
    expect(files["credentials.sealed"]).toStartWith("600 ");
    expect(files["sealing.key"]).toStartWith("600 ");
  });

  test("the record says which changed, and nothing more", async () => {
    const site = await openAppliance();
    expectOk(await set(site, { apiKey: API }));
    await site.stop();
    const state = readFileSync(join(site.folder, "state.json"), "utf8");
    expect(state).not.toContain(API);
    const files = Object.values(contentsOf(site.folder)).join("\n");
    const events = files.split("\n").filter((line) => line.includes('"KeysSet"'));
    expect(events.length).toBeGreaterThan(0);
    for (const event of events) {
      expect(event).toContain('"changed":["apiKey"]');
      expect(event).not.toContain("canary");
    }
  });
});

describe("the address", () => {
  const SIX = "/api/v4/setKeys";

  test("says that there is a better way, and what it is", async () => {
    const site = await openAppliance();
    const [{ headers }] = await byGet(site, BOTH);
    expect(headers.get("deprecation")).toBe("true");
    expect(headers.get("link")).toContain(`<${SIX}>`);
    const [posted] = await byPost(site, BOTH);
    expect(posted.headers.has("deprecation")).toBe(false);
  });

  test.each([
    "apiKey=a&apiKey=b",
    "sharedKey=a&sharedKey=a",
    "apiKey=a&APIKEY=b",
    "apiKey=&apiKey=",
  ])("with a parameter twice is refused: %s", async (query) => {
    const site = await openAppliance();
    const ask = () => site.get(`${SIX}?${query}&other=1&other=2`);
    const message = await expectRefusedUnchanged(site, 400, "invalid_parameter", ask);
    expect(message).toMatch(/^(apiKey|sharedKey) must be given once$/);
  });

  test("is read without regard to the case of its parameters", async () => {
    const site = await openAppliance();
    const reply = expectOk(
      await site.get<SetKeysReply>(`${SIX}?apikey=${API}&SHAREDKEY=${SHARED}`),
    );
    expect(reply.updated).toEqual(["apiKey", "sharedKey"]);
  });

  test("does nothing on HEAD, and answers no other method", async () => {
    const site = await openAppliance();
    const before = site.lastSeq();
    for (const method of ["HEAD", "PUT", "DELETE", "OPTIONS"]) {
      const [response] = await site.send(method, `${SIX}?apiKey=${API}&sharedKey=${SHARED}`);
      expect([method, response.status]).toEqual([method, 405]);
      expect(response.headers.get("allow")).toBe("GET, POST");
    }
    expect(site.lastSeq()).toBe(before);
    expect(await keysIn(site)).toBeNull();
  });

  test("does not take keys from the query of a POST", async () => {
    const site = await openAppliance();
    expectOk(await site.post("/api/v4/setKeys?apiKey=a&sharedKey=b", {}));
    expect(await keysIn(site)).toBeNull();
  });

  test("is open to whoever may open the socket", async () => {
    const site = await openAppliance({ gate: socketGate });
    expectOk(await byGet(site, BOTH));
  });
});

describe("a cloud request", () => {
  const KEYED = { product: "cad", license_key: "ABCD-1234" };

  test("is there with both keys and a license key only", async () => {
    const site = await openAppliance();
    const none = { cloud_payload: null, cloud_filename: null };
    expect(await generate(site, KEYED)).toMatchObject(none);
    expectOk(await byPost(site, { apiKey: API }));
    expect(await generate(site, KEYED)).toMatchObject(none);
    expectOk(await byPost(site, { sharedKey: SHARED }));
    expect(await generate(site, { product: "cad" })).toMatchObject(none);
    expect(await generate(site, {})).toMatchObject(none);
    expect((await generate(site, KEYED)).cloud_payload).toBeString();
    expect((await generate(site, { license_key: "ABCD-1234" })).cloud_filename).toEndWith(".req");
  });

  test("follows the published recipe, and holds the API key but not the shared one", async () => {
    const site = await openAppliance();
    expectOk(await byPost(site, BOTH));
    const made = await generate(site, KEYED);
    const text = Buffer.from(made.cloud_payload ?? "", "base64").toString();
    const date = new Date(made.created_at).toUTCString();
    const lines = ["licenseSpring", `date: ${date}`, "ABCD-1234", made.hardware_id, API];
    expect(JSON.parse(text)).toEqual({
      request: "activation",
      request_id: made.request_id,
      license_key: "ABCD-1234",
      hardware_id: made.hardware_id,
      product: "cad",
      date,
      api_key: API,
      signature: createHmac("sha256", SHARED).update(lines.join("\n")).digest("base64"),
    });
    expect(text).not.toContain(SHARED);
    const { cloud_payload: _payload, ...rest } = made;
    expect(JSON.stringify(rest)).not.toContain("canary");
  });

  test("no other call shows either key", async () => {
    const site = await openAppliance();
    expectOk(await byPost(site, BOTH));
    for (const path of ["/api/admin/v1/status", "/api/admin/v1/licenses", "/api/v4/license", "/"]) {
      const [, body] = await site.get(path);
      expect(JSON.stringify(body)).not.toContain("canary");
    }
    expectRefusal(await site.get(`/api/v4/setkeys?apiKey=${API}`), 404, "not_found");
  });
});
