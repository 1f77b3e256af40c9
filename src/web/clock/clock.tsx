import { useSignal } from "@preact/signals";
import type { ClockReply } from "../../http/routes/clock/clock.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatDateTime } from "../format.ts";
import { Button, CopyButton } from "../parts/button.tsx";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Facts } from "../parts/facts.tsx";
import { FileDrop } from "../parts/file-drop.tsx";
import { AsyncContent } from "../parts/async-content.tsx";
import { Notice } from "../parts/notice.tsx";
import { canChange } from "../session.ts";
import { clock } from "../settings/maintenance-texts.ts";
import { settings } from "../settings/settings-texts.ts";
import { CliCommands } from "../parts/cli-commands.tsx";

/** The server time, and how to correct it. */
export const Clock = () => (
  <>
    <section class="card">
      <h3>{settings.sections.clock}</h3>
      <p class="muted">{clock.about}</p>
      <AsyncContent load={() => unwrapReply(admin.clock.get())}>
        {(clockReply, reload) => (
          <>
            <Times clockReply={clockReply} />
            <div class="row">
              <Button onClick={reload}>{clock.reload}</Button>
              {clockReply.state === "ahead" && (
                <AcceptButton clockReply={clockReply} reload={reload} />
              )}
            </div>
            {canChange.value &&
              (clockReply.state === "behind" || clockReply.state === "suspect") && (
                <SetBack reload={reload} />
              )}
          </>
        )}
      </AsyncContent>
    </section>
    <CliCommands commands={clock.commands} />
  </>
);

const Times = ({ clockReply: { now, system_clock, state } }: { clockReply: ClockReply }) => (
  <>
    <Facts
      as="tiles"
      facts={[
        [clock.serverTime, <time dateTime={now}>{formatDateTime(now)}</time>],
        [clock.systemClock, <time dateTime={system_clock}>{formatDateTime(system_clock)}</time>],
      ]}
    />
    <Notice kind={state === "ok" ? "good" : "warn"}>{clock.states[state]}</Notice>
  </>
);

interface Props {
  readonly clockReply: ClockReply;
  readonly reload: () => Promise<void>;
}

function AcceptButton({ clockReply, reload }: Props) {
  const accept = async (): Promise<void> => {
    await unwrapReply(admin.clock.accept.post({}));
    await reload();
  };
  return (
    <ConfirmButton
      kind="main"
      actionLabel={clock.accept.act}
      title={clock.accept.title}
      onConfirm={accept}
    >
      <p>{clock.accept.text(formatDateTime(clockReply.system_clock))}</p>
    </ConfirmButton>
  );
}

/** Needs a document from the vendor: a free way to set the time back would prolong licenses. */
function SetBack({ reload }: Pick<Props, "reload">) {
  const code = useSignal("");
  const answer = useSignal("");
  const requestCode = async (): Promise<void> => {
    ({ code: code.value } = await unwrapReply(admin.clock.request.post({})));
  };
  const receiveAnswer = async (text: string): Promise<void> => {
    answer.value = text;
  };
  const repair = async (): Promise<void> => {
    await unwrapReply(admin.clock.repair.post({ license: answer.value }));
    await reload();
  };
  return (
    <>
      <p>{clock.requestCode.text}</p>
      {code.value === "" ? (
        <Button onClick={requestCode}>{clock.requestCode.act}</Button>
      ) : (
        <>
          <p>{clock.requestCode.readOut}</p>
          <p class="secret">
            <code>{code.value}</code>
          </p>
          <CopyButton text={code.value} />
        </>
      )}
      <FileDrop
        fileDescription={clock.repair.fileDescription}
        onText={receiveAnswer}
        takes={["time", "qr", "text", "too-large"]}
      />
      {answer.value !== "" && (
        <>
          <Notice kind="note">{clock.repair.answerLoaded}</Notice>
          <Button kind="main" onClick={repair}>
            {clock.repair.act}
          </Button>
        </>
      )}
    </>
  );
}
