import { useSignal } from "@preact/signals";
import { call } from "../api.ts";
import { status } from "../live.ts";
import { Button } from "../parts/button.tsx";
import { Choice } from "../parts/choice.tsx";
import { Command } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { saveReply } from "../save.ts";
import { frame } from "../texts/frame.ts";
import { record } from "../texts/record.ts";
import { monthsBetween, spanOf } from "./months.ts";

const named = new Intl.DateTimeFormat(undefined, {
  month: "long",
  year: "numeric",
  timeZone: "UTC",
});

/** The record, or some months of it, for an auditor who keeps their own copy. */
export function Export() {
  const open = useSignal(false);
  return (
    <>
      <Button onClick={() => void (open.value = true)}>{record.export.open}</Button>
      {open.value && <Take onClose={() => (open.value = false)} />}
    </>
  );
}

function Take({ onClose }: { onClose: () => void }) {
  const first = useSignal("");
  const last = useSignal("");
  const { value: known } = status;
  if (known === null) return null;
  const months = monthsBetween(known.created_at, known.now).map(
    (month) => [month, named.format(new Date(`${month}-01`))] as const,
  );
  const backwards = first.value !== "" && last.value !== "" && first.value > last.value;
  const take = async (): Promise<void> => {
    const span = new URLSearchParams(spanOf(first.value, last.value));
    await saveReply(await call(`/api/admin/v1/audit/export?${span}`), "berth-audit.jsonl");
  };
  return (
    <Dialog title={record.export.title} onClose={onClose}>
      <p>{record.export.text}</p>
      <div class="row months">
        <Choice
          label={record.export.from}
          value={first.value}
          options={[["", record.export.first], ...months]}
          onChange={(month) => (first.value = month)}
        />
        <Choice
          label={record.export.to}
          value={last.value}
          options={[["", record.export.last], ...months]}
          onChange={(month) => (last.value = month)}
        />
      </div>
      {backwards && <p class="bad">{record.export.backwards}</p>}
      <Button kind="main" onClick={take} disabled={backwards}>
        {record.export.save}
      </Button>
      <p class="hint">{frame.onTerminal}</p>
      <Command text={record.export.outCommand} />
      <p class="hint">{record.export.checkWith}</p>
      <Command text={record.export.command} />
    </Dialog>
  );
}
