import { useSignal } from "@preact/signals";
import type { ClockReply } from "../../http/routes/clock.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatDateTime } from "../format.ts";
import { Button, CopyButton } from "../parts/button.tsx";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Facts } from "../parts/facts.tsx";
import { FileDrop } from "../parts/file-drop.tsx";
import { AsyncContent } from "../parts/async-content.tsx";
import { Notice } from "../parts/notice.tsx";
import { clock } from "../texts/maintenance.ts";
import { settings } from "../texts/settings.ts";
import { CliCommands } from "../parts/cli-commands.tsx";

/** What time it is here, and the ways out when it is wrong. */
export const Clock = () => (
  <>
    <section class="card">
      <h3>{settings.sections.clock}</h3>
      <p class="quiet">{clock.about}</p>
      <AsyncContent load={() => unwrapReply(admin.clock.get())}>
        {(known, again) => (
          <>
            <Times clockReply={known} />
            <div class="row">
              <Button onClick={again}>{clock.reload}</Button>
              {known.state === "ahead" && <AcceptButton clockReply={known} again={again} />}
            </div>
            {(known.state === "behind" || known.state === "suspect") && <SetBack again={again} />}
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
  readonly again: () => Promise<void>;
}

function AcceptButton({ clockReply, again }: Props) {
  const accept = async (): Promise<void> => {
    await unwrapReply(admin.clock.accept.post({}));
    await again();
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

/** A vendor's word is needed for this: time that runs back would end nothing any more. */
function SetBack({ again }: Pick<Props, "again">) {
  const code = useSignal("");
  const answer = useSignal("");
  const ask = async (): Promise<void> => {
    ({ code: code.value } = await unwrapReply(admin.clock.request.post({})));
  };
  const take = async (text: string): Promise<void> => {
    answer.value = text;
  };
  const repair = async (): Promise<void> => {
    await unwrapReply(admin.clock.repair.post({ license: answer.value }));
    await again();
  };
  return (
    <>
      <p>{clock.requestCode.text}</p>
      {code.value === "" ? (
        <Button onClick={ask}>{clock.requestCode.act}</Button>
      ) : (
        <>
          <p>{clock.requestCode.readOut}</p>
          <p class="secret">
            <code>{code.value}</code>
          </p>
          <CopyButton text={code.value} />
        </>
      )}
      <FileDrop fileDescription={clock.repair.fileDescription} onText={take} />
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
