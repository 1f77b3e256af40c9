import type { AccessReply } from "../../http/routes/access/access.ts";
import { admin, unwrapReply } from "../api.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Time } from "../parts/time.tsx";
import { canChange } from "../session.ts";
import { SignOutButton } from "./sign-out-button.tsx";
import { access as texts } from "./access-texts.ts";
import { AccessTable, LastUse, Owner } from "./access-table.tsx";

type Session = AccessReply["sessions"][number];

interface Props {
  readonly sessions: readonly Session[];
  readonly reload: () => Promise<void>;
}

/** Who is signed in to the page, with the newest use first. */
export function Sessions({ sessions, reload }: Props) {
  const sorted = sessions.toSorted(
    (a, b) => Date.parse(b.last_used_at) - Date.parse(a.last_used_at),
  );
  const rows = sorted.map((session) => ({
    key: session.id,
    cells: [
      <Owner name={session.name} mark={session.is_current ? texts.sessions.current : null} />,
      texts.roles[session.role],
      <Time at={session.created_at} as="short" />,
      <Time at={session.expires_at} as="short" />,
      <LastUse at={session.last_used_at} address={session.address} />,
    ],
    actions: session.is_current ? (
      <SignOutButton />
    ) : (
      canChange.value && <RevokeSession session={session} reload={reload} />
    ),
  }));
  const { owner, startedAt, title, none } = texts.sessions;
  const columns = [owner, texts.role, startedAt, texts.expiresAt, texts.lastUsed];
  return <AccessTable label={title} columns={columns} rows={rows} none={none} />;
}

interface RevokeProps {
  readonly session: Session;
  readonly reload: () => Promise<void>;
}

function RevokeSession({ session: { id, name, address }, reload }: RevokeProps) {
  const { act, label, title, text } = texts.revokeSession;
  const revoke = async (): Promise<void> => {
    await unwrapReply(admin.sessions.revoke.post({ id }));
    await reload();
  };
  return (
    <ConfirmButton
      actionLabel={act}
      label={label(name, address)}
      title={title(name)}
      onConfirm={revoke}
    >
      <p>{text}</p>
    </ConfirmButton>
  );
}
