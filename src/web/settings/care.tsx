import { useSignal } from "@preact/signals";
import type { DoctorReply } from "../../http/running-server.ts";
import { admin, call, done } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Command } from "../parts/command.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Chain } from "../record/chain.tsx";
import { saveReply } from "../save.ts";
import { care } from "../texts/care.ts";

/** What keeps it in good order. */
export const Care = () => (
  <>
    <section class="card">
      <h3>{care.doctor.title}</h3>
      <Loaded ask={() => done(admin.doctor.get())}>
        {(told, again) => (
          <>
            <Findings told={told} />
            <Button onClick={again}>{care.doctor.again}</Button>
          </>
        )}
      </Loaded>
      <Command text={care.doctor.command} />
    </section>
    <section class="card">
      <h3>{care.verify.title}</h3>
      <Chain />
      <Command text={care.verify.command} />
    </section>
    <Backup />
    <Bundle />
  </>
);

const KINDS: Readonly<Record<string, "good" | "note" | "warn" | "bad">> = {
  ok: "good",
  note: "note",
  warning: "warn",
  error: "bad",
};

function Findings({ told: { worst_level, findings } }: { told: DoctorReply }) {
  const fine = findings.filter(({ level }) => level === "ok");
  const others = findings.filter(({ level }) => level !== "ok");
  return (
    <>
      <Notice kind={KINDS[worst_level] ?? "warn"}>
        {care.doctor.worst[worst_level] ?? worst_level}
      </Notice>
      <List findings={others} />
      <details>
        <summary>{care.doctor.fine(fine.length)}</summary>
        <List findings={fine} />
      </details>
    </>
  );
}

const List = ({ findings }: Pick<DoctorReply, "findings">) => (
  <ul class="rows findings">
    {findings.map(({ check, level, finding, remedy }) => (
      <li key={`${check} ${finding}`}>
        <span class={`level ${level}`}>{care.doctor.levels[level] ?? level}</span>
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

async function take(path: string, otherwise: string): Promise<string> {
  return saveReply(await call(`/api/admin/v1/${path}`, { method: "POST" }), otherwise);
}

function Backup() {
  const made = useSignal("");
  const act = async (): Promise<void> => {
    made.value = "";
    made.value = await take("backup", "site.berth");
  };
  return (
    <section class="card">
      <h3>{care.backup.title}</h3>
      <p>{care.backup.text}</p>
      <Confirm kind="main" act={care.backup.act} title={care.backup.ask} onConfirm={act}>
        <p>{care.backup.secret}</p>
      </Confirm>
      {made.value !== "" && (
        <Notice kind="good" title={care.backup.made(made.value)}>
          {care.backup.secret}
        </Notice>
      )}
      <Command text={care.backup.command} />
    </section>
  );
}

function Bundle() {
  const made = useSignal("");
  const act = async (): Promise<void> => {
    made.value = "";
    made.value = await take("support-bundle", "berth-support.tar");
  };
  return (
    <section class="card">
      <h3>{care.bundle.title}</h3>
      <p>{care.bundle.text}</p>
      <Button onClick={act}>{care.bundle.act}</Button>
      {made.value !== "" && <Notice kind="good">{care.bundle.made(made.value)}</Notice>}
      <Command text={care.bundle.command} />
    </section>
  );
}
