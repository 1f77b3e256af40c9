import { expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";

/** The paths of the files that a page loads. */
async function assetPaths(site: Appliance, page = "/"): Promise<string[]> {
  const [, html] = await site.get<string>(page);
  return [...html.matchAll(/\b(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path ?? "");
}

async function stylePath(site: Appliance): Promise<string> {
  return (await assetPaths(site)).find((path) => path.endsWith(".css")) ?? "";
}

/** The paths of all scripts that a script loads, by the kind of the import. */
async function importedPaths(
  site: Appliance,
  script: string,
  kind: "import-statement" | "dynamic-import",
): Promise<string[]> {
  const [, text] = await site.get<string>(script);
  return new Bun.Transpiler({ loader: "js" })
    .scanImports(text)
    .filter((imported) => imported.kind === kind)
    .map(({ path }) => new URL(path, `http://localhost${script}`).pathname);
}

const metaValues = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<meta name="(berth-\w+)" content="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value,
    ]),
  );

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

test("the pages load nothing from other hosts, cannot be framed, and have no opener on another site", async () => {
  const site = await openAppliance();
  for (const path of ["/", "/api/v4/docs"]) {
    const [response, html] = await site.get<string>(path);
    const policy = response.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
    expect(policy).not.toMatch(/unsafe|http|\*/);
    expect(response.headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(response.headers.get("referrer-policy")).toBe("same-origin");
    expect(html).not.toMatch(/https?:|<style|\son\w+=|<script>/);
  }
});

test("over plain HTTP from another machine, where browsers report it, a page has no opener policy", async () => {
  const site = await openAppliance();
  site.peer = "192.168.1.7";
  const [response] = await site.get<string>("/");
  expect(response.status).toBe(200);
  expect(response.headers.get("cross-origin-opener-policy")).toBeNull();
});

test("every file a page refers to is served with its content type", async () => {
  const site = await openAppliance();
  for (const path of ["/", "/api/v4/docs"]) {
    const parts = await assetPaths(site, path);
    expect(parts.length).toBeGreaterThanOrEqual(3);
    for (const part of parts) {
      const [response, text] = await site.get<string>(part);
      expect([part, response.status]).toEqual([part, 200]);
      expect(response.headers.get("content-type")).toMatch(/javascript|css|svg/);
      expect(text.length).toBeGreaterThan(100);
    }
  }
});

test("the style sheet is compressed only for a client that accepts gzip", async () => {
  const site = await openAppliance();
  const path = await stylePath(site);
  const [plain, text] = await site.get<string>(path);
  const [response] = await site.send("GET", path, {
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
])(
  "the style sheet for Accept-Encoding %s has the encoding %p",
  async (acceptEncoding, encoding) => {
    const site = await openAppliance();
    const [response] = await site.send("GET", await stylePath(site), {
      headers: { "accept-encoding": acceptEncoding },
    });
    expect(response.headers.get("content-encoding")).toBe(encoding);
  },
);

test("GET / ignores its query", async () => {
  const site = await openAppliance();
  expect(expectOk(await site.get("/?product=cad&x=%00"))).toEqual(expectOk(await site.get("/")));
});

test("the first load of the page is at most 110 kB when compressed", async () => {
  const site = await openAppliance();
  const sizes = await Promise.all(
    ["/", ...(await assetPaths(site))].map(async (path) => {
      const headers = { "accept-encoding": "gzip" };
      const response = await site.app.fetch(
        new Request(`http://localhost${path}`, { headers: { ...headers, host: "localhost" } }),
      );
      expect([path, response.status]).toEqual([path, 200]);
      expect(response.headers.get("content-encoding")).toBe("gzip");
      return (await response.bytes()).length;
    }),
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`first load of the page: ${(total / 1_000).toFixed(1)} kB compressed`);
  expect(sizes.length).toBeGreaterThanOrEqual(4);
  expect(total).toBeGreaterThan(20_000);
  expect(total).toBeLessThan(110_000);
});

test("the page preloads every script that its own script needs at once", async () => {
  const site = await openAppliance();
  const loaded = (await assetPaths(site)).filter((path) => path.endsWith(".js"));
  for (const path of loaded) {
    for (const needed of await importedPaths(site, path, "import-statement"))
      expect(loaded).toContain(needed);
  }
});

test("the scripts of views that are loaded later are served, and so is what they import", async () => {
  const site = await openAppliance();
  const pending = (await assetPaths(site)).filter((path) => path.endsWith(".js"));
  const later = new Set<string>();
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    const [response] = await site.get<string>(path);
    expect([path, response.status]).toEqual([path, 200]);
    expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(response.headers.get("cache-control")).toContain("immutable");
    expect(path).toMatch(/^\/assets\/[a-z]+-[0-9a-f]{10}\.js$/);
    for (const kind of ["import-statement", "dynamic-import"] as const) {
      const paths = await importedPaths(site, path, kind);
      pending.push(...paths.filter((imported) => !later.has(imported)));
      for (const imported of paths) later.add(imported);
    }
  }
  for (const view of ["audit", "licenses", "settings", "slots"])
    expect([...later].some((path) => path.startsWith(`/assets/${view}-`))).toBe(true);
});

test("files with a hash in their name are cached for a year, the pages are revalidated", async () => {
  const site = await openAppliance();
  for (const page of ["/", "/api/v4/docs"]) {
    const [response] = await site.get<string>(page);
    expect(response.headers.get("cache-control")).toBe("no-cache");
    for (const path of await assetPaths(site, page)) {
      expect(path).toMatch(/^\/assets\/[a-z]+-[0-9a-f]{10}\.[a-z]+$/);
      const [asset] = await site.get<string>(path);
      expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    }
  }
});

test("a page that the browser has already is not sent again", async () => {
  let name = "Plant 4";
  const site = await openAppliance({ siteName: () => name });
  const [first] = await site.get<string>("/");
  const headers = { "if-none-match": `"other", ${first.headers.get("etag")}` };
  const [known, body] = await site.send("GET", "/", { headers });
  expect([known.status, body]).toEqual([304, ""]);
  expect(known.headers.get("content-security-policy")).toContain("default-src 'none'");
  name = "Plant 5";
  const [changed, html] = await site.send<string>("GET", "/", { headers });
  expect(changed.status).toBe(200);
  expect(html).toContain("Plant 5");
});

test.each(["/assets/page-0000000000.js", "/assets/page.js", "/assets/..%2fpage.html", "/page.js"])(
  "%s is not found",
  async (path) => {
    const site = await openAppliance();
    expectRefusal(await site.get(path), 404, "not_found");
  },
);

test("the page has the name of the site, with special characters escaped", async () => {
  const site = await openAppliance({ siteName: () => `<b>"A" & 'B'</b> $& $1` });
  const [, html] = await site.get<string>("/");
  expect(metaValues(html)["berth-site"]).toBe(
    "&lt;b&gt;&quot;A&quot; &amp; &#39;B&#39;&lt;/b&gt; $&amp; $1",
  );
  expect(html).not.toContain("<b>");
});

test.each([
  ["this machine", "127.0.0.1", {}, true],
  ["another machine of the client networks", "10.1.0.7", {}, false],
  ["a proxy on this machine", "127.0.0.1", { "x-forwarded-for": "10.1.0.7" }, false],
])("the page says how commands are called, for %s", async (_name, peer, headers, hasPaths) => {
  const site = await openAppliance({ executable: "/opt/berth" });
  site.peer = peer;
  const [, html] = await site.send<string>("GET", "/", { headers });
  expect(metaValues(html)).toEqual({
    "berth-site": "Plant 4",
    "berth-sudo": "yes",
    "berth-executable": hasPaths ? "/opt/berth" : "berth",
    "berth-data": hasPaths ? site.folder : "DIR",
  });
});

test("the status tells administrators how commands are called", async () => {
  const site = await openAppliance({ executable: "/opt/berth" });
  const { command_line: commandLine } = expectOk(await site.status());
  expect(commandLine).toEqual({
    executable: "/opt/berth",
    needs_sudo: true,
    data_folder: site.folder,
  });
});
