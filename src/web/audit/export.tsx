import { useSignal } from "@preact/signals";
import { fetchResponse } from "../api.ts";
import { serverStatus } from "../status-stream.ts";
import { Button } from "../parts/button.tsx";
import { Select } from "../parts/select.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";
import { Command } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { saveResponse } from "../save.ts";
import { frame } from "../parts/common-texts.ts";
import { auditLog } from "./audit-log-texts.ts";
import { auditQueryOf, isFilterEmpty, type AuditFilter } from "./filter.ts";
import { monthsBetween, monthRangeQuery } from "./months.ts";

const monthFormat = new Intl.DateTimeFormat(undefined, {
  month: "long",
  year: "numeric",
  timeZone: "UTC",
});

/** Saves the events that the filter selects, for a spreadsheet. */
export const AuditCsv = ({ filter }: { filter: AuditFilter }) => (
  <Button
    onClick={async () => {
      const query = new URLSearchParams(auditQueryOf(filter));
      await saveResponse(
        await fetchResponse(`/api/admin/v1/audit/csv?${query}`),
        "berth-audit.csv",
      );
    }}
  >
    {isFilterEmpty(filter) ? auditLog.csv : auditLog.csvOfMatches}
  </Button>
);

/** Exports the audit log, or some months of it. */
export function AuditExport() {
  const isOpen = useSignal(false);
  return (
    <>
      <Button onClick={() => void (isOpen.value = true)}>{auditLog.export.open}</Button>
      {isOpen.value && <ExportDialog onClose={() => (isOpen.value = false)} />}
    </>
  );
}

function ExportDialog({ onClose }: { onClose: () => void }) {
  const first = useSignal("");
  const last = useSignal("");
  const { value: status } = serverStatus;
  if (status === null) return null;
  const months = monthsBetween(status.created_at, status.now).map(
    (month) => [month, monthFormat.format(new Date(`${month}-01`))] as const,
  );
  const isInvalidRange = first.value !== "" && last.value !== "" && first.value > last.value;
  const save = async (): Promise<void> => {
    const range = new URLSearchParams(monthRangeQuery(first.value, last.value));
    await saveResponse(
      await fetchResponse(`/api/admin/v1/audit/export?${range}`),
      "berth-audit.jsonl",
    );
  };
  return (
    <Dialog title={auditLog.export.title} onClose={onClose}>
      <p>{auditLog.export.text}</p>
      <div class="row months">
        <Select
          label={auditLog.export.from}
          value={first.value}
          options={[["", auditLog.export.startOfLog], ...months]}
          onChange={(month) => (first.value = month)}
        />
        <Select
          label={auditLog.export.to}
          value={last.value}
          options={[["", auditLog.export.endOfLog], ...months]}
          onChange={(month) => (last.value = month)}
        />
      </div>
      {isInvalidRange && <p class="bad">{auditLog.export.invalidRange}</p>}
      <p class="hint">{auditLog.export.verifyHint}</p>
      <Command text={auditLog.export.verifyCommand} />
      <CliCommands commands={[auditLog.export.exportCommand]} />
      <div class="row actions">
        <Button onClick={onClose}>{frame.cancel}</Button>
        <Button kind="main" onClick={save} disabled={isInvalidRange}>
          {auditLog.export.save}
        </Button>
      </div>
    </Dialog>
  );
}
