import { expect, test } from "bun:test";
import type { Event } from "../../../src/domain/model/event.ts";
import { auditEntryReply } from "../../../src/http/routes/audit/audit-entry.ts";
import { entrySentence } from "../../../src/web/audit/entry-sentence.ts";
import { deniedEpisode, minutesLater, MONDAY } from "../../support/scenario.ts";

const sentenceOf = (event: Event): string =>
  entrySentence(auditEntryReply({ seq: 1, part: 0, event, product: "CAE" }));

test("the page names the reason of a denied episode, and its feature", () => {
  const episode = deniedEpisode({ feature: "MESH", attempts: 50 });
  const ended = { outcome: "granted", endedAt: minutesLater(4) } as const;
  expect(sentenceOf({ type: "EpisodeEnded", at: MONDAY, ...episode, ...ended })).toBe(
    "Slot of feature MESH denied 50 times in 4 minutes, then granted: no free slot",
  );
});

test("the page names the reason of counted refusals, and their feature", () => {
  const counted = { product: "CAE", code: "floating_not_available", count: 3, users: [] };
  const event: Event = { type: "RefusalsCounted", at: MONDAY, ...counted };
  expect(sentenceOf(event)).toBe("3 requests refused: no free slot");
  expect(sentenceOf({ ...event, feature: "MESH" })).toBe(
    "3 requests for feature MESH refused: no free slot",
  );
});
