import { useSignal } from "@preact/signals";
import { fetchResponse } from "../api.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Notice } from "../parts/notice.tsx";
import { saveResponse } from "../save.ts";
import { backupTexts } from "./backups-texts.ts";

const { save: texts } = backupTexts;

/** Makes a backup and saves it in the browser. */
export function SaveBackup() {
  const savedName = useSignal("");
  const save = async (): Promise<void> => {
    savedName.value = "";
    const response = await fetchResponse("/api/admin/v1/backup", { method: "POST" });
    savedName.value = await saveResponse(response, "site.berth");
  };
  return (
    <section class="card">
      <h3>{texts.title}</h3>
      <p>{texts.text}</p>
      <ConfirmButton
        actionLabel={texts.act}
        kind="main"
        buttonKind="plain"
        title={texts.confirmTitle}
        onConfirm={save}
      >
        <p>{backupTexts.secret}</p>
      </ConfirmButton>
      {savedName.value !== "" && (
        <Notice kind="good" title={texts.saved(savedName.value)}>
          {backupTexts.secret}
        </Notice>
      )}
    </section>
  );
}
