import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ReportProgressReply } from "../../http/routes/usage/report.ts";
import { admin, unwrapReply } from "../api.ts";
import { Loading } from "../parts/query-content.tsx";
import { useQuery } from "../use-query.ts";
import { reports } from "./reports-texts.ts";

const SECOND = 1_000;

/** While figures are computed: after a second, how far the server is. */
export function Computing() {
  const isLong = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => (isLong.value = true), SECOND);
    return () => clearTimeout(timer);
  }, []);
  return isLong.value ? <Progress /> : <Loading />;
}

function Progress() {
  const { data } = useQuery(
    (signal) => unwrapReply(admin.report.progress.get({ fetch: { signal } })),
    [],
    { watch: () => null, maxAge: SECOND },
  );
  const { percent, waiting } = data.value ?? NONE;
  return (
    <p class="muted computing" role="status">
      {reports.computing} <progress max={100} {...(percent !== null && { value: percent })} />{" "}
      {percent !== null && reports.percentRead(percent)}
      {waiting > 0 && <> · {reports.othersWait(waiting)}</>}
    </p>
  );
}

const NONE: ReportProgressReply = { percent: null, waiting: 0 };
