import { expect, spyOn, test } from "bun:test";
import { openAppliance } from "../support/appliance.ts";

/** More than any answer to a call of an application has. */
const LARGE = 20_000;

/** Anybody may ask for it, also those who never read what they asked for. */
test("openapi.json is written once, however often it is asked for", async () => {
  const site = await openAppliance();
  const write = spyOn(JSON, "stringify");
  try {
    for (let asked = 0; asked < 5; asked += 1) {
      const [{ status }] = await site.get("/api/v4/openapi.json");
      expect(status).toBe(200);
    }
    const texts = write.mock.results.map(({ value }) => String(value));
    expect(texts.filter((text) => text.length > LARGE)).toHaveLength(1);
  } finally {
    write.mockRestore();
  }
});
