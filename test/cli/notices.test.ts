import { expect, test } from "bun:test";
import manifest from "../../package.json";
import type { Notices } from "../../src/platform/notices.ts";
import { runOrThrow, runJsonOrThrow } from "../support/run-berth.ts";
import { buildBinary } from "../support/binary.ts";

test("notices name what is bundled, each with its own license text", async () => {
  const { runtime, packages } = await runJsonOrThrow<Notices>(["notices"]);
  expect([runtime.name, runtime.version]).toEqual(["bun", manifest.engines.bun]);
  expect(runtime.text).toContain("JavaScriptCore");
  // What it says of the runtime was written for this very version.
  expect(manifest.devDependencies["@types/bun"]).toBe(runtime.version);
  const versions = Object.fromEntries(packages.map(({ name, version }) => [name, version]));
  expect(versions).toMatchObject(manifest.dependencies);
  // Comes with Elysia, and nobody here names it.
  expect(versions).toHaveProperty("memoirist");
  for (const name of Object.keys(manifest.devDependencies))
    expect(versions).not.toHaveProperty(name);
  for (const { text } of packages) expect(text).toMatch(/copyright/i);
});

test("for people they are one text, with a list before it", async () => {
  const { packages } = await runJsonOrThrow<Notices>(["notices"]);
  const text = await runOrThrow(["notices"]);
  for (const { name, version, license, text: terms } of packages) {
    expect(text).toContain(`\n  ${name} ${version} (${license})\n`);
    expect(text).toContain(terms);
  }
});

test("the executable carries the same, with no packages beside it", async () => {
  const child = Bun.spawn([buildBinary(), "notices", "--json"], { cwd: "/", env: {} });
  expect(JSON.parse(await child.stdout.text())).toEqual(await runJsonOrThrow<Notices>(["notices"]));
});
