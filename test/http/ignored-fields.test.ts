// Unknown fields are ignored, as the contract has it; the reply names them.
import { describe, expect, onTestFinished, test } from "bun:test";
import { listen } from "../../src/http/server.ts";
import { expectOk, expectRefusal, openAppliance, type Appliance } from "../support/appliance.ts";

const HEADER = "x-ignored-fields";
const JSON_TYPE = { "content-type": "application/json" };

const ignoredBy = async (site: Appliance, path: string, body: object): Promise<string | null> => {
  const sent = { body: JSON.stringify(body), headers: JSON_TYPE };
  const [response] = await site.send("POST", `/api/v4/${path}`, sent);
  return response.headers.get(HEADER);
};

describe("X-Ignored-Fields", () => {
  test("names a misspelt optional field of a borrow that succeeds", async () => {
    const site = await openAppliance();
    const answer = await site.borrow({ user: "ada", borrow_until: "2026-03-02T12:00:00Z" });
    expectOk(answer);
    expect(answer[0].headers.get(HEADER)).toBe("borrow_until");
  });

  test("is absent when every field is known, in any case, also with the value null", async () => {
    const site = await openAppliance();
    for (const body of [
      { user: "ada" },
      { User: "ada", PRODUCT: "CAD" },
      { user: "ada", product: null, os_hostname: null },
    ]) {
      expect(await ignoredBy(site, "register", body)).toBe(null);
    }
  });

  test("names the variant in another case that lost to the exact field", async () => {
    const site = await openAppliance();
    expect(await ignoredBy(site, "register", { user: "ada", User: "grace" })).toBe("User");
  });

  test("names unknown fields whose value is null", async () => {
    const site = await openAppliance();
    expect(await ignoredBy(site, "register", { user: "ada", colour: null })).toBe("colour");
  });

  test("stands on a refusal too", async () => {
    const site = await openAppliance();
    const answer = await site.register({ usr: "ada" });
    expectRefusal(answer, 400, "missing_parameters");
    expect(answer[0].headers.get(HEADER)).toBe("usr");
  });

  test("names query parameters that a GET does not know, and none that it knows", async () => {
    const site = await openAppliance();
    const ask = async (query: string) => {
      const [response] = await site.send("GET", `/api/v4/license?${query}`);
      return response.headers.get(HEADER);
    };
    expect(await ask("product=CAD&licence_id=1")).toBe("licence_id");
    expect(await ask("Product=CAD&license_id=1")).toBe(null);
  });

  test("names what GET featureRelease/all is sent, which it does not read", async () => {
    const site = await openAppliance();
    const [response] = await site.send("GET", "/api/v4/featureRelease/all?product=CAD");
    expect([response.status, response.headers.get(HEADER)]).toEqual([200, "product"]);
  });

  test("names query parameters of a POST, which reads its body only", async () => {
    const site = await openAppliance();
    const sent = { body: '{"user":"ada","a":"1"}', headers: JSON_TYPE };
    const [response] = await site.send("POST", "/api/v4/register?product=CAD&a=2", sent);
    expect([response.status, response.headers.get(HEADER)]).toEqual([200, "product, a"]);
  });

  test("leaves out names with other characters or more than 64, and all after eight", async () => {
    const site = await openAppliance();
    const long = "n".repeat(64);
    const hostile = ["a\r\nset-cookie: x=1", "b c", "c,d", "é", "", `${long}n`, "\u0000"];
    const body = Object.fromEntries([...hostile, long, "A.b_c-9"].map((name) => [name, "x"]));
    expect(await ignoredBy(site, "register", { user: "ada", ...body })).toBe(`${long}, A.b_c-9`);
    const only = Object.fromEntries(hostile.map((name) => [name, "x"]));
    expect(await ignoredBy(site, "register", { user: "ada", ...only })).toBe(null);
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`k${at}`, "x"]));
    expect(await ignoredBy(site, "register", { user: "ada", ...many })).toBe(
      "k0, k1, k2, k3, k4, k5, k6, k7",
    );
  });

  test("does not name one of 10,000 keys: that body stays too complex", async () => {
    const site = await openAppliance();
    const keys = Array.from({ length: 10_000 }, (_, at) => `"${at}":1`).join(",");
    const sent = { body: `{${keys}}`, headers: JSON_TYPE };
    // It takes 128 KiB, which is enough for so many.
    const answer = await site.send("POST", "/api/v4/airgap/license", sent);
    expectRefusal(answer, 400, "too_complex");
    expect(answer[0].headers.get(HEADER)).toBe(null);
  });

  test("adds no header line of its own when a name holds line ends, over a real socket", async () => {
    const { services } = await openAppliance();
    const policy = {
      isClient: () => true,
      isAdmin: () => true,
      clientAuth: "open",
      adminOpen: true,
      allowPlain: true,
      serverNames: [],
      logMode: "default",
    } as const;
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

  test("is documented for every operation with fields, on its success", async () => {
    const site = await openAppliance();
    const [, document] = await site.send<{
      info: { description: string };
      paths: Record<string, Record<string, { responses: Record<string, { headers?: object }> }>>;
    }>("GET", "/api/v4/openapi.json");
    expect(document.info.description).toContain("X-Ignored-Fields");
    const shown = (path: string, method: string) =>
      Object.keys(document.paths[path]?.[method]?.responses["200"]?.headers ?? {});
    expect(shown("/api/v4/borrow", "post")).toEqual(["X-Ignored-Fields"]);
    expect(shown("/api/v4/license", "get")).toEqual(["X-Ignored-Fields"]);
    expect(shown("/api/v4/health", "get")).toEqual([]);
  });
});
