import { useSignal } from "@preact/signals";
import { fetchResponse } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";
import { Notice } from "../parts/notice.tsx";
import { IntegrityCheck } from "../audit/integrity-check.tsx";
import { linkTo } from "../router.ts";
import { saveResponse } from "../save.ts";
import { canChange } from "../session.ts";
import { maintenance } from "./maintenance-texts.ts";

/** Integrity check and support bundle. */
export const Maintenance = () => (
  <>
    <p>
      <a href={linkTo("health")}>{maintenance.toHealth}</a>
    </p>
    <section class="card">
      <h3>{maintenance.verify.title}</h3>
      <IntegrityCheck />
      <CliCommands commands={[maintenance.verify.command]} />
    </section>
    {canChange.value && <Bundle />}
  </>
);

async function downloadReply(path: string, fallbackName: string): Promise<string> {
  return saveResponse(
    await fetchResponse(`/api/admin/v1/${path}`, { method: "POST" }),
    fallbackName,
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
      <CliCommands commands={[maintenance.bundle.command]} />
    </section>
  );
}
