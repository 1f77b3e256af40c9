import { expect, test } from "bun:test";
import { siteSlug } from "../../../src/domain/text/site-slug.ts";

test.each([
  ["Plant 4", "plant-4-"],
  ["  Zürich / Süd!", "zurich-sud-"],
  ["berth.plant7.lan", "berth-plant7-lan-"],
  ["a".repeat(64), `${"a".repeat(32)}-`],
  ["../../etc/passwd", "etc-passwd-"],
  ["工場", ""],
])("siteSlug makes %j a part of a file name: %j", (name, slug) => {
  expect(siteSlug(name)).toBe(slug);
});
