import { expect, spyOn, test } from "bun:test";
import { openAppliance } from "../support/appliance.ts";

/** Longer than the answer to any other call. */
const LARGE = 20_000;

/** Callers need no credential for it, and may never read the answer. */
test("the server encodes openapi.json once, however often it is requested", async () => {
  const site = await openAppliance();
  const stringify = spyOn(JSON, "stringify");
  try {
    for (let request = 0; request < 5; request += 1) {
      const [{ status }] = await site.get("/api/v4/openapi.json");
      expect(status).toBe(200);
    }
    const texts = stringify.mock.results.map(({ value }) => String(value));
    expect(texts.filter((text) => text.length > LARGE)).toHaveLength(1);
  } finally {
    stringify.mockRestore();
  }
});
