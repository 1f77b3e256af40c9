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
import { maintenance } from "../texts/maintenance.ts";

/** What keeps it in good order. */
export const Maintenance = () => (
  <>
    <section class="card">
      <h3>{maintenance.doctor.title}</h3>
      <AsyncContent load={() => unwrapReply(admin.doctor.get())}>
        {(told, again) => (
          <>
            <Findings report={told} />
            <Button onClick={again}>{maintenance.doctor.runAgain}</Button>
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
  const fine = findings.filter(({ level }) => level === "ok");
  const others = findings.filter(({ level }) => level !== "ok");
  return (
    <>
      <Notice kind={NOTICE_KIND_BY_LEVEL[worst_level] ?? "warn"}>
        {maintenance.doctor.worst[worst_level] ?? worst_level}
      </Notice>
      <FindingList findings={others} />
      <details>
        <summary>{maintenance.doctor.passed(fine.length)}</summary>
        <FindingList findings={fine} />
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
          {remedy !== "" && <p class="quiet">{remedy}</p>}
        </div>
      </li>
    ))}
  </ul>
);

async function downloadReply(path: string, otherwise: string): Promise<string> {
  return saveResponse(await fetchResponse(`/api/admin/v1/${path}`, { method: "POST" }), otherwise);
}

function Backup() {
  const made = useSignal("");
  const act = async (): Promise<void> => {
    made.value = "";
    made.value = await downloadReply("backup", "site.berth");
  };
  return (
    <section class="card">
      <h3>{maintenance.backup.title}</h3>
      <p>{maintenance.backup.text}</p>
      <ConfirmButton
        kind="main"
        actionLabel={maintenance.backup.act}
        title={maintenance.backup.confirmTitle}
        onConfirm={act}
      >
        <p>{maintenance.backup.secret}</p>
      </ConfirmButton>
      {made.value !== "" && (
        <Notice kind="good" title={maintenance.backup.saved(made.value)}>
          {maintenance.backup.secret}
        </Notice>
      )}
      <Command text={maintenance.backup.command} />
    </section>
  );
}

function Bundle() {
  const made = useSignal("");
  const act = async (): Promise<void> => {
    made.value = "";
    made.value = await downloadReply("support-bundle", "berth-support.tar");
  };
  return (
    <section class="card">
      <h3>{maintenance.bundle.title}</h3>
      <p>{maintenance.bundle.text}</p>
      <Button onClick={act}>{maintenance.bundle.act}</Button>
      {made.value !== "" && <Notice kind="good">{maintenance.bundle.saved(made.value)}</Notice>}
      <Command text={maintenance.bundle.command} />
    </section>
  );
}
