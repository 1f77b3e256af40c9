import { useSignal } from "@preact/signals";
import type { ClockReply } from "../../http/routes/clock.ts";
import { admin, done } from "../api.ts";
import { when } from "../format.ts";
import { Button, CopyButton } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Facts } from "../parts/facts.tsx";
import { FileDrop } from "../parts/file-drop.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { clock } from "../texts/care.ts";
import { settings } from "../texts/settings.ts";
import { OnTerminal } from "../parts/on-terminal.tsx";

/** What time it is here, and the ways out when it is wrong. */
export const Clock = () => (
  <>
    <section class="card">
      <h3>{settings.sections.clock}</h3>
      <p class="quiet">{clock.about}</p>
      <Loaded ask={() => done(admin.clock.get())}>
        {(known, again) => (
          <>
            <Times known={known} />
            <div class="row">
              <Button onClick={again}>{clock.again}</Button>
              {known.state === "ahead" && <Accept known={known} again={again} />}
            </div>
            {(known.state === "behind" || known.state === "suspect") && <SetBack again={again} />}
          </>
        )}
      </Loaded>
    </section>
    <OnTerminal commands={clock.commands} />
  </>
);

const Times = ({ known: { now, system_clock, state } }: { known: ClockReply }) => (
  <>
    <Facts
      as="tiles"
      facts={[
        [clock.here, <time dateTime={now}>{when(now)}</time>],
        [clock.system, <time dateTime={system_clock}>{when(system_clock)}</time>],
      ]}
    />
    <Notice kind={state === "ok" ? "good" : "warn"}>{clock.states[state]}</Notice>
  </>
);

interface Props {
  readonly known: ClockReply;
  readonly again: () => Promise<void>;
}

function Accept({ known, again }: Props) {
  const accept = async (): Promise<void> => {
    await done(admin.clock.accept.post({}));
    await again();
  };
  return (
    <Confirm kind="main" act={clock.accept.act} title={clock.accept.title} onConfirm={accept}>
      <p>{clock.accept.text(when(known.system_clock))}</p>
    </Confirm>
  );
}

/** A vendor's word is needed for this: time that runs back would end nothing any more. */
function SetBack({ again }: Pick<Props, "again">) {
  const code = useSignal("");
  const answer = useSignal("");
  const ask = async (): Promise<void> => {
    ({ code: code.value } = await done(admin.clock.request.post({})));
  };
  const take = async (text: string): Promise<void> => {
    answer.value = text;
  };
  const repair = async (): Promise<void> => {
    await done(admin.clock.repair.post({ license: answer.value }));
    await again();
  };
  return (
    <>
      <p>{clock.ask.text}</p>
      {code.value === "" ? (
        <Button onClick={ask}>{clock.ask.act}</Button>
      ) : (
        <>
          <p>{clock.ask.read}</p>
          <p class="secret">
            <code>{code.value}</code>
          </p>
          <CopyButton text={code.value} />
        </>
      )}
      <FileDrop what={clock.repair.what} onText={take} />
      {answer.value !== "" && (
        <>
          <Notice kind="note">{clock.repair.there}</Notice>
          <Button kind="main" onClick={repair}>
            {clock.repair.act}
          </Button>
        </>
      )}
    </>
  );
}
