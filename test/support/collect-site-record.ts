import type { State } from "../../src/domain/model/state.ts";
import type { Instant } from "../../src/domain/time.ts";
import { SiteRecordCollector } from "../../src/usage/collect-site-record.ts";
import { captureFinalState } from "../../src/usage/final-state.ts";
import type { RecordedLine } from "../../src/usage/recorded-line.ts";
import type { SiteRecord } from "../../src/usage/site-record.ts";

/** The record of lines that are in memory, and of the state after them. */
export function collectSiteRecord(
  lines: Iterable<RecordedLine>,
  state: State,
  now: Instant,
  from: Instant | null = null,
): SiteRecord {
  const collector = new SiteRecordCollector(from);
  for (const line of lines) collector.addLine(line);
  return collector.finish(captureFinalState(state, now));
}
