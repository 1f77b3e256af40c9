import type { AccessReply } from "../../http/routes/access/access.ts";
import { admin, unwrapReply } from "../api.ts";
import { berthCommand } from "../commands.ts";
import { CliCommands } from "../parts/cli-commands.tsx";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Notice } from "../parts/notice.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { Time, TimeZoneNote } from "../parts/time.tsx";
import { useQuery } from "../use-query.ts";
import { canChange } from "../session.ts";
import { access as texts } from "./access-texts.ts";
import { AccessTable, LastUse, Owner } from "./access-table.tsx";
import { NewToken } from "./new-token.tsx";
import { Sessions } from "./sessions.tsx";
import { SetUser } from "./set-user.tsx";

interface Props {
  readonly access: AccessReply;
  readonly reload: () => Promise<void>;
}

/** The last use changes without a change that the server writes down. */
const MAX_AGE = 30_000;

/** Tokens, users and sessions; the server does not send their secrets. */
export function Access() {
  const query = useQuery((signal) => unwrapReply(admin.access.get({ fetch: { signal } })), [], {
    maxAge: MAX_AGE,
  });
  return (
    <QueryContent query={query}>
      {(access, reload) => (
        <>
          {!canChange.value && <Notice kind="note">{texts.readOnly}</Notice>}
          {!access.credential_required && <Notice kind="warn">{texts.unclaimed}</Notice>}
          <section class="card">
            <h3>{texts.tokens.title}</h3>
            <p class="muted">{texts.tokens.about}</p>
            <Tokens access={access} reload={reload} />
            {canChange.value && <NewToken reload={reload} />}
          </section>
          <section class="card">
            <h3>{texts.users.title}</h3>
            <p class="muted">{texts.users.about}</p>
            <Users access={access} reload={reload} />
            {canChange.value && <SetUser reload={reload} />}
          </section>
          <section class="card">
            <h3>{texts.sessions.title}</h3>
            <p class="muted">{texts.sessions.about}</p>
            <Sessions sessions={access.sessions} reload={reload} />
          </section>
          <TimeZoneNote />
          {canChange.value && <CliCommands commands={texts.commands.map(berthCommand)} />}
        </>
      )}
    </QueryContent>
  );
}

function Tokens({ access, reload }: Props) {
  const rows = access.tokens.map((token) => {
    const { name, role, created_at, expires_at, is_expired } = token;
    const isOwn = isYou(access, "token", name);
    return {
      key: name,
      cells: [
        <Owner name={name} mark={isOwn ? texts.you : null} />,
        texts.roles[role],
        <Time at={created_at} as="date" />,
        <Expiry end={expires_at} isExpired={is_expired} />,
        <LastUse at={token.last_used_at} address={token.last_used_from} />,
      ],
      actions: canChange.value && (
        <ConfirmButton
          actionLabel={texts.revokeToken.act}
          label={texts.revokeToken.label(name)}
          title={texts.revokeToken.title(name)}
          onConfirm={async () => {
            await unwrapReply(admin.access.tokens.revoke.post({ name }));
            await reload();
          }}
        >
          <p>{texts.revokeToken.text}</p>
          {isOwn && <p>{texts.ownCredential}</p>}
        </ConfirmButton>
      ),
    };
  });
  const { name, role, createdAt, expiresAt, lastUsed } = texts;
  const columns = [name, role, createdAt, expiresAt, lastUsed];
  const { title, none } = texts.tokens;
  return <AccessTable label={title} columns={columns} rows={rows} none={none} />;
}

function Expiry({ end, isExpired }: { end: string | null; isExpired: boolean }) {
  if (end === null) return <span class="warn">{texts.noExpiry}</span>;
  return (
    <span>
      {isExpired && <span class="bad">{texts.expired} </span>}
      <Time at={end} as="date" />
    </span>
  );
}

function Users({ access, reload }: Props) {
  const rows = access.users.map((user) => {
    const { name, role, password_set_at } = user;
    const isOwn = isYou(access, "user", name);
    return {
      key: name,
      cells: [
        <Owner name={name} mark={isOwn ? texts.you : null} />,
        texts.roles[role],
        <Time at={password_set_at} as="date" />,
        <LastUse at={user.last_used_at} address={user.last_used_from} />,
      ],
      actions: canChange.value && (
        <div class="row">
          <SetUser user={{ name, role }} reload={reload} />
          <ConfirmButton
            actionLabel={texts.removeUser.act}
            label={texts.removeUser.label(name)}
            title={texts.removeUser.title(name)}
            onConfirm={async () => {
              await unwrapReply(admin.access.users.remove.post({ name }));
              await reload();
            }}
          >
            <p>{texts.removeUser.text}</p>
            {isOwn && <p>{texts.ownCredential}</p>}
          </ConfirmButton>
        </div>
      ),
    };
  });
  const columns = [texts.name, texts.role, texts.users.passwordSetAt, texts.lastUsed];
  const { title, none } = texts.users;
  return <AccessTable label={title} columns={columns} rows={rows} none={none} />;
}

const isYou = (
  { signed_in_as: signedInAs }: AccessReply,
  credential: "token" | "user",
  name: string,
): boolean =>
  signedInAs !== null && signedInAs.credential === credential && signedInAs.name === name;
