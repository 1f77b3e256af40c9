import { describe, expect, test } from "bun:test";
import { openAppliance, type Appliance, type RawRequest } from "../support/appliance.ts";
import { FaultyDisk } from "../support/faulty-disk.ts";
import { listOperations, dereference, type JsonObject } from "../support/openapi-rules.ts";
import { findMismatches } from "../support/openapi-values.ts";
import { makeMaintenance } from "../support/maintenance.ts";

const JSON_BODY = { "content-type": "application/json" };
const STREAM = "/api/admin/v1/stream";

interface OperationCall {
  readonly method: string;
  readonly path: string;
  readonly operation: JsonObject;
  readonly document: JsonObject;
}

type Send = (site: Appliance, called: OperationCall) => Promise<readonly [Response, unknown]>;

const send =
  (raw: RawRequest): Send =>
  (site, { method, path }) =>
    site.send(method, path, raw);

/** With a value in every field, so that the call gets as far as it can. */
const call: Send = (site, { method, path, operation, document }) => {
  const { requestBody, parameters } = operation as {
    requestBody?: { content: Record<string, { schema: unknown }> };
    parameters: readonly { name: string; in: string }[];
  };
  const schema = dereference(document, requestBody?.content["application/json"]?.schema);
  const { properties = {} } = (schema ?? {}) as { properties?: object };
  const sent = Object.fromEntries(Object.keys(properties).map((name) => [name, valueOf(name)]));
  const query = new URLSearchParams(
    parameters
      .filter((one) => one.in === "query")
      .map(({ name }): [string, string] => [name, valueOf(name)]),
  );
  if (method === "GET") return site.send(method, `${path}?${query.toString()}`);
  return site.send(method, path, { headers: JSON_BODY, body: JSON.stringify(sent) });
};

const VALUES: Readonly<Record<string, string>> = {
  product: "cad",
  user: "ada",
  feature: "view",
  consumptions: "1",
  role: "user",
  password: "a long password",
  days: "3",
  month: "2026-03",
  license_id: "1",
};

const valueOf = (name: string): string => VALUES[name] ?? "";

/** Sends it to every operation; which statuses came, by the operation's route. */
async function answers(site: Appliance, sent: Send): Promise<Map<string, number>> {
  const [, document] = await site.get<JsonObject>("/api/v4/openapi.json");
  const came = new Map<string, number>();
  const undocumented: string[] = [];
  for (const [route, operation] of listOperations(document)) {
    const [method = "", path = ""] = route.split(" ");
    // It has no end to wait for; the gate before it is the same as for the others.
    if (path === STREAM && sent === call) continue;
    const [{ status }, body] = await sent(site, { method, path, operation, document });
    came.set(route, status);
    const { responses } = operation as { responses: Readonly<Record<string, unknown>> };
    if (!(status in responses)) undocumented.push(`${route}: ${status}`);
    if (status === 200) continue;
    expect(findMismatches(document, { $ref: "#/components/schemas/Refusal" }, body)).toEqual([]);
  }
  expect(undocumented).toEqual([]);
  return came;
}

/** The routes that answered so. */
const withStatus = (came: ReadonlyMap<string, number>, status: number): string[] =>
  [...came].filter(([, one]) => one === status).map(([route]) => route);

const isPost = (route: string): boolean => route.startsWith("POST ");

describe("every operation documents the status of", () => {
  test("a call that succeeds or is refused for what it asks", async () => {
    const site = await openAppliance({ maintenance: makeMaintenance });
    const came = await answers(site, call);
    expect(withStatus(came, 200).length).toBeGreaterThan(25);
    expect(withStatus(came, 400).length).toBeGreaterThan(5);
  });

  test("a call by another name of the server", async () => {
    const came = await answers(await openAppliance(), send({ headers: { host: "[::g]" } }));
    expect(new Set(came.values())).toEqual(new Set([421]));
  });

  test("a call from another site's page", async () => {
    const headers = { "sec-fetch-site": "cross-site" };
    const came = await answers(await openAppliance(), send({ headers }));
    expect(new Set(came.values())).toEqual(new Set([403]));
  });

  test("a call without a credential where one is needed", async () => {
    const site = await openAppliance({ gate: { clientAuth: "login" } });
    await site.services.access.createToken("ops", null, "test");
    const came = await answers(site, send({}));
    expect(withStatus(came, 401).length).toBeGreaterThan(50);
    expect(withStatus(came, 200)).toEqual([
      "GET /",
      "GET /api/v4/docs",
      "GET /api/v4/health",
      "GET /api/v4/openapi.json",
    ]);
  });

  test("a body that is not JSON", async () => {
    const sent = { headers: JSON_BODY, body: "{" };
    const came = await answers(
      await openAppliance({ maintenance: makeMaintenance }),
      (site, called) =>
        called.method === "POST" ? send(sent)(site, called) : send({})(site, called),
    );
    expect(withStatus(came, 400).filter(isPost)).toEqual([...came.keys()].filter(isPost));
  });

  test("a body that says to be something else", async () => {
    const sent = { headers: { "content-type": "application/xml" }, body: "<a/>" };
    const came = await answers(
      await openAppliance({ maintenance: makeMaintenance }),
      (site, called) =>
        called.method === "POST" ? send(sent)(site, called) : send({})(site, called),
    );
    expect(withStatus(came, 415)).toEqual([...came.keys()].filter(isPost));
  });

  test("a body that is too large", async () => {
    const sent = { headers: JSON_BODY, body: `{}${" ".repeat(128 * 1024)}` };
    const came = await answers(
      await openAppliance({ maintenance: makeMaintenance }),
      (site, called) =>
        called.method === "POST" ? send(sent)(site, called) : send({})(site, called),
    );
    expect(withStatus(came, 413)).toEqual([...came.keys()].filter(isPost));
  });

  test("a call to an appliance that was moved away", async () => {
    const site = await openAppliance({ maintenance: makeMaintenance });
    const [, status] = await site.status();
    const { id } = status.appliance;
    expect((await site.post("/api/admin/v1/move", { appliance: id }))[0].status).toBe(200);
    const came = await answers(site, call);
    expect(withStatus(came, 409).length).toBeGreaterThan(20);
  });

  test("a call while the disk fails", async () => {
    const disk = new FaultyDisk();
    const site = await openAppliance({ maintenance: makeMaintenance, disk });
    disk.beforeCall = ({ name }) => {
      if (name === "syncData") throw new Error("the disk failed");
    };
    expect((await site.register({ user: "ada" }))[0].status).toBe(503);
    const came = await answers(site, call);
    expect(withStatus(came, 503).length).toBeGreaterThan(25);
  });
});
