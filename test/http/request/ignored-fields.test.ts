// The contract says that unknown fields are ignored. The reply names them in a header.
import { describe, expect, onTestFinished, test } from "bun:test";
import { listen } from "../../../src/http/server.ts";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  OPEN_POLICY,
  type Appliance,
} from "../../support/appliance.ts";

const HEADER = "x-ignored-fields";
const JSON_TYPE = { "content-type": "application/json" };

const postIgnored = async (site: Appliance, path: string, body: object): Promise<string | null> => {
  const request = { body: JSON.stringify(body), headers: JSON_TYPE };
  const [response] = await site.send("POST", `/api/v4/${path}`, request);
  return response.headers.get(HEADER);
};

describe("X-Ignored-Fields", () => {
  test("names a misspelt optional field of a borrow that succeeds", async () => {
    const site = await openAppliance();
    const reply = await site.borrow({ user: "ada", borrow_until: "2026-03-02T12:00:00Z" });
    expectOk(reply);
    expect(reply[0].headers.get(HEADER)).toBe("borrow_until");
  });

  test("is absent when every field is known, in any case, also with the value null", async () => {
    const site = await openAppliance();
    for (const body of [
      { user: "ada" },
      { User: "ada", PRODUCT: "CAD" },
      { user: "ada", product: null, os_hostname: null },
    ]) {
      expect(await postIgnored(site, "register", body)).toBe(null);
    }
  });

  test("names a field in another case when the exact field is present too", async () => {
    const site = await openAppliance();
    expect(await postIgnored(site, "register", { user: "ada", User: "grace" })).toBe("User");
  });

  test("names unknown fields whose value is null", async () => {
    const site = await openAppliance();
    expect(await postIgnored(site, "register", { user: "ada", colour: null })).toBe("colour");
  });

  test("is sent with a refusal too", async () => {
    const site = await openAppliance();
    const reply = await site.register({ usr: "ada" });
    expectRefusal(reply, 400, "missing_parameters");
    expect(reply[0].headers.get(HEADER)).toBe("usr");
  });

  test("names the unknown query parameters of a GET and no known ones", async () => {
    const site = await openAppliance();
    const getIgnored = async (query: string) => {
      const [response] = await site.send("GET", `/api/v4/license?${query}`);
      return response.headers.get(HEADER);
    };
    expect(await getIgnored("product=CAD&licence_id=1")).toBe("licence_id");
    expect(await getIgnored("Product=CAD&license_id=1")).toBe(null);
  });

  test("names every query parameter of GET featureRelease/all, which reads none", async () => {
    const site = await openAppliance();
    const [response] = await site.send("GET", "/api/v4/featureRelease/all?product=CAD");
    expect([response.status, response.headers.get(HEADER)]).toEqual([200, "product"]);
  });

  test("names query parameters of a POST, which reads its body only", async () => {
    const site = await openAppliance();
    const request = { body: '{"user":"ada","a":"1"}', headers: JSON_TYPE };
    const [response] = await site.send("POST", "/api/v4/register?product=CAD&a=2", request);
    expect([response.status, response.headers.get(HEADER)]).toEqual([200, "product, a"]);
  });

  test("leaves out unsafe names, names of more than 64 characters, and all after the eighth", async () => {
    const site = await openAppliance();
    const longName = "n".repeat(64);
    const hostile = ["a\r\nset-cookie: x=1", "b c", "c,d", "é", "", `${longName}n`, "\u0000"];
    const body = Object.fromEntries([...hostile, longName, "A.b_c-9"].map((name) => [name, "x"]));
    expect(await postIgnored(site, "register", { user: "ada", ...body })).toBe(
      `${longName}, A.b_c-9`,
    );
    const hostileOnly = Object.fromEntries(hostile.map((name) => [name, "x"]));
    expect(await postIgnored(site, "register", { user: "ada", ...hostileOnly })).toBe(null);
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`k${at}`, "x"]));
    expect(await postIgnored(site, "register", { user: "ada", ...many })).toBe(
      "k0, k1, k2, k3, k4, k5, k6, k7",
    );
  });

  test("is absent when a body of 10,000 keys is refused as too complex", async () => {
    const site = await openAppliance();
    const keys = Array.from({ length: 10_000 }, (_, at) => `"${at}":1`).join(",");
    const request = { body: `{${keys}}`, headers: JSON_TYPE };
    // This route accepts 128 KiB, which is enough for so many keys.
    const reply = await site.send("POST", "/api/v4/airgap/license", request);
    expectRefusal(reply, 400, "too_complex");
    expect(reply[0].headers.get(HEADER)).toBe(null);
  });

  test("adds no header line when a field name contains line breaks, over a real connection", async () => {
    const { services } = await openAppliance();
    const policy = { ...OPEN_POLICY, adminOpen: true, allowPlain: true };
    const server = listen({ services, host: "127.0.0.1", port: 0, policy });
    onTestFinished(() => server.stop());
    const name = "x\r\nx-planted: 1";
    const response = await fetch(
      `${server.address}/api/v4/register?${encodeURIComponent(name)}=1&known=2`,
      { method: "POST", headers: JSON_TYPE, body: JSON.stringify({ user: "ada", [name]: "1" }) },
    );
    expect(response.status).toBe(200);
    expect(response.headers.get("x-planted")).toBe(null);
    expect(response.headers.get(HEADER)).toBe("known");
  });

  test("is documented for the successful reply of operations with fields", async () => {
    const site = await openAppliance();
    const [, document] = await site.send<{
      info: { description: string };
      paths: Record<string, Record<string, { responses: Record<string, { headers?: object }> }>>;
    }>("GET", "/api/v4/openapi.json");
    expect(document.info.description).toContain("X-Ignored-Fields");
    const documentedHeaders = (path: string, method: string) =>
      Object.keys(document.paths[path]?.[method]?.responses["200"]?.headers ?? {});
    expect(documentedHeaders("/api/v4/borrow", "post")).toEqual(["X-Ignored-Fields"]);
    expect(documentedHeaders("/api/v4/license", "get")).toEqual(["X-Ignored-Fields"]);
    expect(documentedHeaders("/api/v4/health", "get")).toEqual([]);
  });
});
