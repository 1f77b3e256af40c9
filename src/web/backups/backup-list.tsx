import { useSignal } from "@preact/signals";
import type { BackupReply } from "../../http/routes/backups/backups.ts";
import { admin, fetchResponse, unwrapReply } from "../api.ts";
import { formatBytes, formatDateTime } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Notice } from "../parts/notice.tsx";
import { Time } from "../parts/time.tsx";
import { saveResponse } from "../save.ts";
import { canChange } from "../session.ts";
import { backupTexts } from "./backups-texts.ts";

const { list: texts } = backupTexts;

interface Props {
  readonly backups: readonly BackupReply[];
  readonly reload: () => Promise<void>;
}

/** The backups in the folder, newest first. */
export const BackupList = ({ backups, reload }: Props) => (
  <section class="card">
    <h3>{texts.title}</h3>
    <ul class="rows">
      {backups.map((backup) => (
        <BackupRow key={backup.name} backup={backup} reload={reload} />
      ))}
    </ul>
  </section>
);

function BackupRow({ backup, reload }: { backup: BackupReply } & Pick<Props, "reload">) {
  const { name, made_at, size, verified, finding } = backup;
  const isVerifiedNow = useSignal(false);
  const savedName = useSignal("");
  const verify = async (): Promise<void> => {
    isVerifiedNow.value = false;
    const checked = await unwrapReply(admin.backups.verify.post({ backup: name }));
    isVerifiedNow.value = checked.verified;
    await reload();
  };
  const download = async (): Promise<void> => {
    savedName.value = "";
    const response = await fetchResponse("/api/admin/v1/backups/download", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ backup: name }),
    });
    savedName.value = await saveResponse(response, name);
  };
  return (
    <li>
      <div class="name">
        <strong>
          <Time at={made_at} as="ago" />
        </strong>
        <p class="muted">
          <small>{name}</small>
        </p>
      </div>
      <span>{formatBytes(size)}</span>
      <span class={verified ? "muted" : "bad"}>
        {isVerifiedNow.value && texts.verifiedNow}
        {!isVerifiedNow.value && (verified ? texts.verified : texts.damaged(finding ?? ""))}
      </span>
      <div class="row">
        <Button onClick={verify} label={texts.verifyLabel(formatDateTime(made_at))}>
          {texts.verify}
        </Button>
        {canChange.value && (
          <ConfirmButton
            kind="main"
            buttonKind="plain"
            actionLabel={texts.download}
            label={texts.downloadLabel(formatDateTime(made_at))}
            title={texts.downloadTitle}
            onConfirm={download}
          >
            <p>{backupTexts.secret}</p>
          </ConfirmButton>
        )}
      </div>
      {savedName.value !== "" && (
        <Notice kind="good" title={texts.saved(savedName.value)}>
          {backupTexts.secret}
        </Notice>
      )}
    </li>
  );
}
