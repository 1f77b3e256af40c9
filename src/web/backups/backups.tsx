import { useSignal, type Signal } from "@preact/signals";
import type { SettingsReply } from "../../http/running-server.ts";
import type { BackupsReply } from "../../http/routes/backups/backups.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatBytes, formatDateTime } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { runsAsService } from "../commands.ts";
import { CliCommands } from "../parts/cli-commands.tsx";
import { Command } from "../parts/command.tsx";
import { EmptyState } from "../parts/empty-state.tsx";
import { Facts } from "../parts/facts.tsx";
import { Notice } from "../parts/notice.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { Time, TimeZoneNote } from "../parts/time.tsx";
import { quoteForShell } from "../shell-quote.ts";
import { useQuery } from "../use-query.ts";
import { canChange } from "../session.ts";
import { serverStatus } from "../status-stream.ts";
import { BackupList } from "./backup-list.tsx";
import { backupTexts } from "./backups-texts.ts";
import { describeSchedule } from "./describe-schedule.ts";
import { SaveBackup } from "./save-backup.tsx";
import { ScheduleForm } from "./schedule-form.tsx";

const { schedule: texts, now: nowTexts, list: listTexts, restore, commands } = backupTexts;

/** Scheduled backups: when and where, which there are, and how to restore one. */
export function Backups() {
  const query = useQuery(
    async (signal) => {
      const options = { fetch: { signal } };
      return {
        reply: await unwrapReply(admin.backups.get(options)),
        settings: (await unwrapReply(admin.settings.get(options))).settings,
      };
    },
    // Backups are no changes that the server counts.
    [JSON.stringify(serverStatus.value?.backups)],
    { keepsOldData: true },
  );
  return (
    <QueryContent query={query}>
      {({ reply, settings }, reload) => (
        <>
          <Schedule reply={reply} settings={settings} reload={reload} />
          {reply.backups.length === 0 ? (
            <NoBackups reply={reply} />
          ) : (
            <BackupList backups={reply.backups} reload={reload} />
          )}
          {canChange.value && <SaveBackup />}
          <Restore reply={reply} />
          <CliCommands commands={commands} />
          <TimeZoneNote />
        </>
      )}
    </QueryContent>
  );
}

interface Props {
  readonly reply: BackupsReply;
  readonly settings: SettingsReply["settings"];
  readonly reload: () => Promise<void>;
}

function Schedule({ reply, settings, reload }: Props) {
  const { schedule, directory, newest_at, newest_size, last_fault, is_same_disk } = reply;
  const newName = useSignal("");
  const keep = settings.find(({ name }) => name === "backup_keep")?.value;
  return (
    <section class="card">
      <h3>{texts.title}</h3>
      <p class="muted">{texts.about}</p>
      {last_fault !== null && (
        <Notice kind="bad" title={texts.failed(formatDateTime(last_fault.at))}>
          {last_fault.message}
          {schedule !== null && <p>{texts.retry}</p>}
        </Notice>
      )}
      <Facts
        as="lines"
        facts={[
          [texts.when, describeSchedule(schedule)],
          [texts.keepLabel, texts.keep(String(keep ?? ""))],
          [texts.folder, <code key="folder">{directory}</code>],
          [
            texts.newest,
            newest_at === null ? (
              texts.none
            ) : (
              <>
                <Time at={newest_at} as="ago" />, {formatBytes(newest_size ?? 0)}
              </>
            ),
          ],
          ...(schedule === null ? [] : [[texts.next, <Next key="next" reply={reply} />] as const]),
        ]}
      />
      {is_same_disk && <p class="hint">{texts.sameDisk}</p>}
      {canChange.value && (
        <div class="row">
          <BackUpNow newName={newName} reload={reload} />
          <ScheduleForm settings={settings} reload={reload} />
        </div>
      )}
      <Progress newName={newName.value} />
    </section>
  );
}

function Next({ reply: { next_at } }: Pick<Props, "reply">) {
  if (next_at === null) return <>{texts.unknown}</>;
  return Date.parse(next_at) <= Date.now() ? <>{texts.soon}</> : <Time at={next_at} />;
}

interface NowProps extends Pick<Props, "reload"> {
  /** Receives the name of the new backup. */
  readonly newName: Signal<string>;
}

function BackUpNow({ newName, reload }: NowProps) {
  const make = async (): Promise<void> => {
    newName.value = "";
    newName.value = (await unwrapReply(admin.backups.post({}))).name;
    await reload();
  };
  return (
    <Button kind="main" onClick={make}>
      {nowTexts.act}
    </Button>
  );
}

/** While a backup is made, also by the schedule, says since when. */
function Progress({ newName }: { newName: string }) {
  const since = serverStatus.value?.backups?.running_since ?? null;
  return (
    <p role="status" class="muted">
      {since !== null && nowTexts.running(formatDateTime(since))}
      {since === null && newName !== "" && nowTexts.success(newName)}
    </p>
  );
}

const NoBackups = ({ reply: { schedule, next_at } }: Pick<Props, "reply">) => (
  <EmptyState
    title={listTexts.emptyTitle}
    text={
      schedule === null || next_at === null
        ? listTexts.emptyOff
        : listTexts.empty(formatDateTime(next_at))
    }
  />
);

function Restore({ reply: { directory, backups } }: Pick<Props, "reply">) {
  const newest = backups.find(({ verified }) => verified);
  const file = newest === undefined ? "FILE" : quoteForShell(`${directory}/${newest.name}`);
  return (
    <section class="card">
      <h3>{restore.title}</h3>
      <p>{restore.text}</p>
      <div class="commands">
        {runsAsService.value && <Command text={restore.stop} />}
        <Command text={restore.command(file)} />
        {runsAsService.value && <Command text={restore.start} />}
      </div>
    </section>
  );
}
