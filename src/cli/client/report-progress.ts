import { withProgress } from "../frame/terminal.ts";
import { unwrapReply, type AdminClient } from "./admin-client.ts";

/** Waits for a route that reads the audit log, and shows on a terminal how far the server is. */
export const withReportProgress = <T>(
  what: string,
  { admin }: AdminClient,
  work: () => Promise<T>,
): Promise<T> =>
  withProgress(what, work, async () => {
    const { percent } = await unwrapReply(admin.report.progress.get());
    return percent === null ? "" : `, ${percent} % of the audit log`;
  });
