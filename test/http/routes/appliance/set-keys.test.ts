import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { socketGate } from "../../../../src/http/access/gate.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
  type RequestHeaders,
} from "../../../support/appliance.ts";
import { contentsOf } from "../../../support/temp-folder.ts";

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

const setByGet = (site: Appliance, keys: Record<string, string>, headers: RequestHeaders = {}) =>
  site.get<SetKeysReply>(`/api/v4/setKeys?${new URLSearchParams(keys).toString()}`, headers);
const setByPost = (site: Appliance, keys: Record<string, unknown>, headers: RequestHeaders = {}) =>
  site.post<SetKeysReply>("setKeys", keys, headers);
const generate = async (site: Appliance, fields: object): Promise<GeneratedRequest> =>
  expectOk(await site.post<GeneratedRequest>("license/generate", { ...fields }));
const readKeys = (site: Appliance) => site.services.credentials.readPair();

describe.each([
  ["GET", setByGet],
  ["POST", setByPost],
] as const)("setKeys by %s", (_, set) => {
  test("changes both keys in one step, and the reply names them without their values", async () => {
    const site = await openAppliance();
    const before = site.lastSeq();
    const reply = await set(site, BOTH);
    expect(expectOk(reply)).toEqual({ status: 200, updated: ["apiKey", "sharedKey"] });
    expect(await readKeys(site)).toEqual(BOTH);
    expect(site.lastSeq()).toBe(before + 1);
    expect(reply[0].headers.get("cache-control")).toBe("no-store");
    expect(JSON.stringify([...reply[0].headers])).not.toContain("canary");
  });

  test("keeps a key whose new value is empty or absent", async () => {
    const site = await openAppliance();
    expectOk(await set(site, BOTH));
    expect(expectOk(await set(site, { apiKey: "next-api" })).updated).toEqual(["apiKey"]);
    expect(await readKeys(site)).toEqual({ apiKey: "next-api", sharedKey: SHARED });
    const reply = expectOk(await set(site, { apiKey: "", sharedKey: "next-shared" }));
    expect(reply.updated).toEqual(["sharedKey"]);
    expect(await readKeys(site)).toEqual({ apiKey: "next-api", sharedKey: "next-shared" });
  });

  test("replies 200 and writes nothing for the same keys or none", async () => {
    const site = await openAppliance();
    expectOk(await set(site, BOTH));
    const before = site.lastSeq();
    for (const keys of [BOTH, {}, { apiKey: "", sharedKey: "" }, { apiKey: API }]) {
      expect(expectOk(await set(site, keys))).toEqual({ status: 200, updated: [] });
    }
    expect(site.lastSeq()).toBe(before);
    expect(await readKeys(site)).toEqual(BOTH);
  });

  test("stores one key alone, which is not a pair yet", async () => {
    const site = await openAppliance();
    expectOk(await set(site, { sharedKey: SHARED }));
    expect(await readKeys(site)).toBeNull();
    expectOk(await set(site, { apiKey: API }));
    expect(await readKeys(site)).toEqual(BOTH);
  });

  test("stores a value unchanged, with characters that are special in a URL", async () => {
    const site = await openAppliance();
    const odd = { apiKey: "a+b/c==&d=%41 e#f?", sharedKey: "schlüssel 🔑" };
    expectOk(await set(site, odd));
    expect(await readKeys(site)).toEqual(odd);
  });

  test.each([
    ["too_long", { apiKey: `${API}${"x".repeat(4_096)}` }],
    ["invalid_characters", { apiKey: `${API}\u0007`, sharedKey: SHARED }],
    ["invalid_characters", { apiKey: API, sharedKey: `${SHARED}\n` }],
  ] as const)("is refused with %s without changing or quoting a key", async (code, keys) => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, code, () => set(site, keys));
    expect(message).not.toContain("canary");
    expect(await readKeys(site)).toBeNull();
  });

  test("is refused from another machine, through a proxy, and under a foreign host name", async () => {
    const site = await openAppliance();
    site.peer = "10.1.2.3";
    await expectRefusedUnchanged(site, 401, "unauthorized", () => set(site, BOTH));
    site.peer = "127.0.0.1";
    const proxied = { "x-forwarded-for": "10.1.2.3" };
    await expectRefusedUnchanged(site, 401, "unauthorized", () => set(site, BOTH, proxied));
    const foreignHost = { host: "rebound.example" };
    await expectRefusedUnchanged(site, 421, "wrong_host", () => set(site, BOTH, foreignHost));
    expect(await readKeys(site)).toBeNull();
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
  ])("is refused for a browser that comes from another site: %j", async (headers) => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 403, "cross_site", () => set(site, BOTH, headers));
    expect(await readKeys(site)).toBeNull();
  });

  test("leaves neither key in plain text in any file of the data folder", async () => {
    const site = await openAppliance();
    expectOk(await set(site, BOTH));
    await generate(site, { license_key: "K-1" });
    await site.stop();
    const files = contentsOf(site.folder);
    const leaks = Object.entries(files).filter(([, bytes]) => bytes.includes("canary"));
    expect(leaks.map(([name]) => name)).toEqual([]);
    expect(files["credentials.sealed"]).toStartWith("600 ");
    expect(files["sealing.key"]).toStartWith("600 ");
  });

  test("writes to the audit log which key changed, and not its value", async () => {
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

describe("the route setKeys", () => {
  const SET_KEYS = "/api/v4/setKeys";

  test("marks GET as deprecated and links to POST", async () => {
    const site = await openAppliance();
    const [{ headers }] = await setByGet(site, BOTH);
    expect(headers.get("deprecation")).toBe("true");
    expect(headers.get("link")).toContain(`<${SET_KEYS}>`);
    const [posted] = await setByPost(site, BOTH);
    expect(posted.headers.has("deprecation")).toBe(false);
  });

  test.each([
    "apiKey=a&apiKey=b",
    "sharedKey=a&sharedKey=a",
    "apiKey=a&APIKEY=b",
    "apiKey=&apiKey=",
  ])("refuses a repeated parameter: %s", async (query) => {
    const site = await openAppliance();
    const send = () => site.get(`${SET_KEYS}?${query}&other=1&other=2`);
    const message = await expectRefusedUnchanged(site, 400, "invalid_parameter", send);
    expect(message).toMatch(/^(apiKey|sharedKey) must be given once$/);
  });

  test("accepts parameter names in any case", async () => {
    const site = await openAppliance();
    const reply = expectOk(
      await site.get<SetKeysReply>(`${SET_KEYS}?apikey=${API}&SHAREDKEY=${SHARED}`),
    );
    expect(reply.updated).toEqual(["apiKey", "sharedKey"]);
  });

  test("replies 405 to HEAD and all other methods and changes nothing", async () => {
    const site = await openAppliance();
    const before = site.lastSeq();
    for (const method of ["HEAD", "PUT", "DELETE", "OPTIONS"]) {
      const [response] = await site.send(method, `${SET_KEYS}?apiKey=${API}&sharedKey=${SHARED}`);
      expect([method, response.status]).toEqual([method, 405]);
      expect(response.headers.get("allow")).toBe("GET, POST");
    }
    expect(site.lastSeq()).toBe(before);
    expect(await readKeys(site)).toBeNull();
  });

  test("ignores keys in the query of a POST", async () => {
    const site = await openAppliance();
    expectOk(await site.post("/api/v4/setKeys?apiKey=a&sharedKey=b", {}));
    expect(await readKeys(site)).toBeNull();
  });

  test("is open on the local socket", async () => {
    const site = await openAppliance({ gate: socketGate });
    expectOk(await setByGet(site, BOTH));
  });
});

describe("a cloud request", () => {
  const FIELDS = { product: "cad", license_key: "ABCD-1234" };

  test("is made only with both cloud keys and a license key", async () => {
    const site = await openAppliance();
    const noCloud = { cloud_payload: null, cloud_filename: null };
    expect(await generate(site, FIELDS)).toMatchObject(noCloud);
    expectOk(await setByPost(site, { apiKey: API }));
    expect(await generate(site, FIELDS)).toMatchObject(noCloud);
    expectOk(await setByPost(site, { sharedKey: SHARED }));
    expect(await generate(site, { product: "cad" })).toMatchObject(noCloud);
    expect(await generate(site, {})).toMatchObject(noCloud);
    expect((await generate(site, FIELDS)).cloud_payload).toBeString();
    expect((await generate(site, { license_key: "ABCD-1234" })).cloud_filename).toEndWith(".req");
  });

  test("is signed as the cloud API documents, and contains the API key but not the shared key", async () => {
    const site = await openAppliance();
    expectOk(await setByPost(site, BOTH));
    const generated = await generate(site, FIELDS);
    const text = Buffer.from(generated.cloud_payload ?? "", "base64").toString();
    const date = new Date(generated.created_at).toUTCString();
    const lines = ["licenseSpring", `date: ${date}`, "ABCD-1234", generated.hardware_id, API];
    expect(JSON.parse(text)).toEqual({
      request: "activation",
      request_id: generated.request_id,
      license_key: "ABCD-1234",
      hardware_id: generated.hardware_id,
      product: "cad",
      date,
      api_key: API,
      signature: createHmac("sha256", SHARED).update(lines.join("\n")).digest("base64"),
    });
    expect(text).not.toContain(SHARED);
    const { cloud_payload: _payload, ...rest } = generated;
    expect(JSON.stringify(rest)).not.toContain("canary");
  });

  test("is the only reply that shows a key", async () => {
    const site = await openAppliance();
    expectOk(await setByPost(site, BOTH));
    for (const path of ["/api/admin/v1/status", "/api/admin/v1/licenses", "/api/v4/license", "/"]) {
      const [, body] = await site.get(path);
      expect(JSON.stringify(body)).not.toContain("canary");
    }
    expectRefusal(await site.get(`/api/v4/setkeys?apiKey=${API}`), 404, "not_found");
  });
});
