import { gzipSync } from "node:zlib";
import { ok, type Result } from "../../../domain/result.ts";
import type { Instant } from "../../../domain/time.ts";
import { reportReply } from "../../../http/routes/usage/report-reply.ts";
import { whatIfReply } from "../../../http/routes/usage/what-if.ts";
import { computeStatementUsage } from "../../../operations/statements/statement-usage.ts";
import type { HistoryFault, HistoryRequest } from "../../../operations/usage/history-process.ts";
import { Reports } from "../../../operations/usage/reports.ts";
import { readHistory, type SiteHistory } from "../../../operations/usage/site-history.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { EXIT_OK } from "../../frame/command.ts";
import { defineServer } from "../../frame/define-command.ts";
import { printShare } from "../../frame/terminal.ts";

/** What the server writes to the standard input, as JSON. */
export interface HistoryJobInput {
  readonly folder: string;
  /** The time of the appliance. */
  readonly now: Instant;
  readonly isCompressed: boolean;
  readonly request: HistoryRequest;
}

/** The first line of the output; the reply follows it. */
export interface HistoryJobHead {
  /** Null: there is a reply. */
  readonly fault: HistoryFault | null;
  /** A line of the audit log that could not be read; null: all were read. */
  readonly unreadableLine: number | null;
}

/** Little is saved by more work. */
const COMPRESSION = { level: 4 };

/**
 * Started by the server as a child process, so that no request waits for work over a long history.
 * The standard error shows how much of the audit log was read, as numbers between 0 and 1.
 */
export const historyJobCommand = defineServer({
  name: "history-job",
  summary: "compute a report or a statement (started by the server)",
  isHidden: true,
  options: {},
  async run() {
    const { folder, now, isCompressed, request } = (await Bun.stdin.json()) as HistoryJobInput;
    let unreadableLine: number | null = null;
    const history = await readHistory(realDisk, folder, now, {
      noteUnreadableLine: (auditSeq) => (unreadableLine = auditSeq),
      noteProgress: printShare,
    });
    const reply = await compute(history, request);
    const fault = reply.ok ? null : reply.fault;
    const head: HistoryJobHead = { fault, unreadableLine };
    const text = Buffer.from(reply.ok ? JSON.stringify(reply.value) : "");
    const body = isCompressed ? gzipSync(text, COMPRESSION) : text;
    await Bun.write(Bun.stdout, Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]));
    return EXIT_OK;
  },
});

/** The reply as the API sends it. */
async function compute(
  history: SiteHistory,
  { type, wanted }: HistoryRequest,
): Promise<Result<object, HistoryFault>> {
  const reports = new Reports(history);
  switch (type) {
    case "report": {
      const report = await reports.buildReport(wanted);
      return report.ok ? ok(reportReply(report.value, wanted.isAnonymous)) : report;
    }
    case "what-if": {
      const whatIf = await reports.computeWhatIf(wanted);
      return whatIf.ok ? ok(whatIfReply(whatIf.value)) : whatIf;
    }
    default:
      return computeStatementUsage(history, wanted);
  }
}
