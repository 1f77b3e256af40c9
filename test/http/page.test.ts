import { expect, test } from "bun:test";
import { expectOk, openAppliance } from "../support/api.ts";

test("the page answers whoever asks whether the server is online", async () => {
  const site = await openAppliance();
  const [response, html] = await site.get<string>("/");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(html).toContain("<h1>Berth</h1>");
});

test("HEAD asks the same without a body", async () => {
  const site = await openAppliance();
  const [response, body] = await site.send("HEAD", "/");
  expect([response.status, body]).toEqual([200, ""]);
});

test("the page loads nothing from anywhere and may not be framed", async () => {
  const site = await openAppliance();
  const [response, html] = await site.get<string>("/");
  const policy = response.headers.get("content-security-policy");
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(response.headers.get("referrer-policy")).toBe("same-origin");
  expect(html).not.toMatch(/\b(?:src|href)=|https?:\/\//);
});

test("a query changes nothing about it", async () => {
  const site = await openAppliance();
  expect(expectOk(await site.get("/?product=cad&x=%00"))).toEqual(expectOk(await site.get("/")));
});
