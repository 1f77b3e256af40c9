import { expect, test } from "bun:test";
import manifest from "../../../../package.json";
import type { Notices } from "../../../../src/platform/embedded/notices.ts";
import { runOrThrow, runJsonOrThrow } from "../../../support/run-berth.ts";
import { buildBinary } from "../../../support/binary.ts";

test("berth notices lists the bundled packages, each with its license text", async () => {
  const { runtime, packages } = await runJsonOrThrow<Notices>(["notices"]);
  expect([runtime.name, runtime.version]).toEqual(["bun", manifest.engines.bun]);
  expect(runtime.text).toContain("JavaScriptCore");
  // The text about the runtime was written for this version.
  expect(manifest.devDependencies["@types/bun"]).toBe(runtime.version);
  const versions = Object.fromEntries(packages.map(({ name, version }) => [name, version]));
  expect(versions).toMatchObject(manifest.dependencies);
  // A dependency of Elysia that package.json does not name.
  expect(versions).toHaveProperty("memoirist");
  for (const name of Object.keys(manifest.devDependencies))
    expect(versions).not.toHaveProperty(name);
  for (const { text } of packages) expect(text).toMatch(/copyright|public domain/i);
});

test("berth notices without --json prints a list and then the license texts", async () => {
  const { packages } = await runJsonOrThrow<Notices>(["notices"]);
  const text = await runOrThrow(["notices"]);
  for (const { name, version, license, text: terms } of packages) {
    expect(text).toContain(`\n  ${name} ${version} (${license})\n`);
    expect(text).toContain(terms);
  }
});

test("the executable prints the same notices without packages beside it", async () => {
  const child = Bun.spawn([buildBinary(), "notices", "--json"], { cwd: "/", env: {} });
  expect(JSON.parse(await child.stdout.text())).toEqual(await runJsonOrThrow<Notices>(["notices"]));
});
