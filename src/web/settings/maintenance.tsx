import { useSignal } from "@preact/signals";
import type { DoctorReply } from "../../http/running-server.ts";
import { admin, fetchResponse, unwrapReply } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Command } from "../parts/command.tsx";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { AsyncContent } from "../parts/async-content.tsx";
import { Notice } from "../parts/notice.tsx";
import { IntegrityCheck } from "../audit-log/integrity-check.tsx";
import { saveResponse } from "../save.ts";
import { maintenance } from "./maintenance-texts.ts";

/** Health check, integrity check, backup and support bundle. */
export const Maintenance = () => (
  <>
    <section class="card">
      <h3>{maintenance.doctor.title}</h3>
      <AsyncContent load={() => unwrapReply(admin.doctor.get())}>
        {(report, reload) => (
          <>
            <Findings report={report} />
            <Button onClick={reload}>{maintenance.doctor.runAgain}</Button>
          </>
        )}
      </AsyncContent>
      <Command text={maintenance.doctor.command} />
    </section>
    <section class="card">
      <h3>{maintenance.verify.title}</h3>
      <IntegrityCheck />
      <Command text={maintenance.verify.command} />
    </section>
    <Backup />
    <Bundle />
  </>
);

const NOTICE_KIND_BY_LEVEL: Readonly<Record<string, "good" | "note" | "warn" | "bad">> = {
  ok: "good",
  note: "note",
  warning: "warn",
  error: "bad",
};

function Findings({ report: { worst_level, findings } }: { report: DoctorReply }) {
  const passed = findings.filter(({ level }) => level === "ok");
  const others = findings.filter(({ level }) => level !== "ok");
  return (
    <>
      <Notice kind={NOTICE_KIND_BY_LEVEL[worst_level] ?? "warn"}>
        {maintenance.doctor.worst[worst_level] ?? worst_level}
      </Notice>
      <FindingList findings={others} />
      <details>
        <summary>{maintenance.doctor.passed(passed.length)}</summary>
        <FindingList findings={passed} />
      </details>
    </>
  );
}

const FindingList = ({ findings }: Pick<DoctorReply, "findings">) => (
  <ul class="rows findings">
    {findings.map(({ check, level, finding, remedy }) => (
      <li key={`${check} ${finding}`}>
        <span class={`level ${level}`}>{maintenance.doctor.levels[level] ?? level}</span>
        <div>
          <p>
            <strong>{check}</strong> {finding}
          </p>
          {remedy !== "" && <p class="muted">{remedy}</p>}
        </div>
      </li>
    ))}
  </ul>
);

async function downloadReply(path: string, fallbackName: string): Promise<string> {
  return saveResponse(
    await fetchResponse(`/api/admin/v1/${path}`, { method: "POST" }),
    fallbackName,
  );
}

function Backup() {
  const savedName = useSignal("");
  const save = async (): Promise<void> => {
    savedName.value = "";
    savedName.value = await downloadReply("backup", "site.berth");
  };
  return (
    <section class="card">
      <h3>{maintenance.backup.title}</h3>
      <p>{maintenance.backup.text}</p>
      <ConfirmButton
        kind="main"
        actionLabel={maintenance.backup.act}
        title={maintenance.backup.confirmTitle}
        onConfirm={save}
      >
        <p>{maintenance.backup.secret}</p>
      </ConfirmButton>
      {savedName.value !== "" && (
        <Notice kind="good" title={maintenance.backup.saved(savedName.value)}>
          {maintenance.backup.secret}
        </Notice>
      )}
      <Command text={maintenance.backup.command} />
    </section>
  );
}

function Bundle() {
  const savedName = useSignal("");
  const save = async (): Promise<void> => {
    savedName.value = "";
    savedName.value = await downloadReply("support-bundle", "berth-support.tar");
  };
  return (
    <section class="card">
      <h3>{maintenance.bundle.title}</h3>
      <p>{maintenance.bundle.text}</p>
      <Button onClick={save}>{maintenance.bundle.act}</Button>
      {savedName.value !== "" && (
        <Notice kind="good">{maintenance.bundle.saved(savedName.value)}</Notice>
      )}
      <Command text={maintenance.bundle.command} />
    </section>
  );
}
