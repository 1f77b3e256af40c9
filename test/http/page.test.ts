import { expect, test } from "bun:test";
import { expectOk, openAppliance } from "../support/appliance.ts";

test("GET / serves the page as HTML", async () => {
  const site = await openAppliance();
  const [response, html] = await site.get<string>("/");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(html).toContain("<title>Berth</title>");
});

test("HEAD / replies like GET without a body", async () => {
  const site = await openAppliance();
  const [response, body] = await site.send("HEAD", "/");
  expect([response.status, body]).toEqual([200, ""]);
});

test("the pages load nothing from other hosts and cannot be framed", async () => {
  const site = await openAppliance();
  for (const path of ["/", "/api/v4/docs"]) {
    const [response, html] = await site.get<string>(path);
    const policy = response.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|http|\*/);
    expect(response.headers.get("referrer-policy")).toBe("same-origin");
    expect(html).not.toMatch(/https?:|<style|\son\w+=|<script>/);
  }
});

test("every file a page refers to is served with its content type", async () => {
  const site = await openAppliance();
  for (const path of ["/", "/api/v4/docs"]) {
    const [, html] = await site.get<string>(path);
    const parts = [...html.matchAll(/\b(?:src|href)="(\/[^"]+)"/g)].map(([, part]) => part ?? "");
    expect(parts.length).toBe(3);
    for (const part of parts) {
      const [response, text] = await site.get<string>(part);
      expect([part, response.status]).toEqual([part, 200]);
      expect(response.headers.get("content-type")).toMatch(/javascript|css|svg/);
      expect(text.length).toBeGreaterThan(100);
    }
  }
});

test("page.css is compressed only for a client that accepts gzip", async () => {
  const site = await openAppliance();
  const [plain, text] = await site.get<string>("/page.css");
  const [response] = await site.send("GET", "/page.css", {
    headers: { "accept-encoding": "gzip, br" },
  });
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(response.headers.get("content-encoding")).toBe("gzip");
  expect(text.length).toBeGreaterThan(1_000);
});

test.each([
  ["gzip;q=0", null],
  ["br, gzip; q=0.000", null],
  ["x-gzip-not", null],
  ["identity", null],
  ["GZIP", "gzip"],
  ["br;q=1.0, gzip;q=0.5", "gzip"],
])("page.css for Accept-Encoding %s has the encoding %p", async (acceptEncoding, encoding) => {
  const site = await openAppliance();
  const [response] = await site.send("GET", "/page.css", {
    headers: { "accept-encoding": acceptEncoding },
  });
  expect(response.headers.get("content-encoding")).toBe(encoding);
});

test("GET / ignores its query", async () => {
  const site = await openAppliance();
  expect(expectOk(await site.get("/?product=cad&x=%00"))).toEqual(expectOk(await site.get("/")));
});

test("the whole page is smaller than 150 kB when compressed", async () => {
  const site = await openAppliance();
  const sizes = await Promise.all(
    ["/", "/page.js", "/page.css", "/icon.svg"].map(async (path) => {
      const [response, text] = await site.get<string>(path);
      expect(response.status).toBe(200);
      return Bun.gzipSync(text).length;
    }),
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect(total).toBeGreaterThan(20_000);
  expect(total).toBeLessThan(150_000);
});
