import { describe, expect, test } from "bun:test";
import { parseSession } from "../../src/web/session-storage.ts";

const SESSION = {
  id: "0".repeat(32),
  name: "ops",
  role: "viewer",
  token: "berth_secret",
  expires_at: "2026-03-02T21:00:00.000Z",
} as const;

describe("parseSession", () => {
  test("reads a session that the page has stored", () => {
    expect(parseSession(JSON.stringify(SESSION))).toEqual(SESSION);
  });

  test("is null without one, and for anything else", () => {
    const { role, ...withoutRole } = SESSION;
    expect(role).toBe("viewer");
    for (const text of [null, "null", "1", '"text"', "[]", "{}", JSON.stringify(withoutRole)]) {
      expect([text, parseSession(text)]).toEqual([text, null]);
    }
  });
});
