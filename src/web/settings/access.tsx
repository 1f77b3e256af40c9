import type { AccessReply } from "../../http/routes/access.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatDate } from "../format.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { AsyncContent } from "../parts/async-content.tsx";
import { Notice } from "../parts/notice.tsx";
import { settings } from "../texts/settings.ts";
import { NewToken } from "./new-token.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";
import { SetUser } from "./set-user.tsx";

const { access } = settings;

interface Props {
  readonly access: AccessReply;
  readonly reload: () => Promise<void>;
}

/** Tokens and users; their secrets are not even here. */
export const Access = () => (
  <AsyncContent load={() => unwrapReply(admin.access.get())}>
    {(known, again) => (
      <>
        <section class="card">
          <h3>{access.tokens}</h3>
          {!known.credential_required && <Notice kind="warn">{access.unclaimed}</Notice>}
          <p class="quiet">{access.tokensAbout}</p>
          <Tokens access={known} reload={again} />
          <NewToken reload={again} />
        </section>
        <section class="card">
          <h3>{access.users}</h3>
          <p class="quiet">{access.usersAbout}</p>
          <Users access={known} reload={again} />
          <SetUser reload={again} />
        </section>
        <CliCommands commands={access.commands} />
      </>
    )}
  </AsyncContent>
);

function Tokens({ access: known, reload }: Props) {
  if (known.tokens.length === 0) return <p>{access.noTokens}</p>;
  return (
    <ul class="rows">
      {known.tokens.map(({ name, created_at, expires_at, is_expired }) => (
        <li key={name}>
          <Name name={name} isYou={isYou(known, "token", name)} />
          <LabeledValue name={access.createdAt}>{formatDate(created_at)}</LabeledValue>
          <LabeledValue name={access.expiresAt}>{expiryText(expires_at, is_expired)}</LabeledValue>
          <ConfirmButton
            actionLabel={access.revoke.act}
            label={access.revoke.label(name)}
            title={access.revoke.title(name)}
            onConfirm={async () => {
              await unwrapReply(admin.access.tokens.revoke.post({ name }));
              await reload();
            }}
          >
            <p>{access.revoke.text}</p>
            {isYou(known, "token", name) && <p>{access.revoke.ownCredential}</p>}
          </ConfirmButton>
        </li>
      ))}
    </ul>
  );
}

function expiryText(end: string | null, hasEnded: boolean): string {
  if (end === null) return access.noExpiry;
  return hasEnded ? access.expired(formatDate(end)) : formatDate(end);
}

function Users({ access: known, reload }: Props) {
  if (known.users.length === 0) return <p>{access.noUsers}</p>;
  return (
    <ul class="rows">
      {known.users.map(({ name, role, password_set_at }) => (
        <li key={name}>
          <Name name={name} isYou={isYou(known, "user", name)} />
          <LabeledValue name={access.role}>{access.roles[role] ?? role}</LabeledValue>
          <LabeledValue name={access.passwordSetAt}>{formatDate(password_set_at)}</LabeledValue>
          <div class="row">
            <SetUser user={{ name, role }} reload={reload} />
            <ConfirmButton
              actionLabel={access.remove.act}
              label={access.remove.label(name)}
              title={access.remove.title(name)}
              onConfirm={async () => {
                await unwrapReply(admin.access.users.remove.post({ name }));
                await reload();
              }}
            >
              <p>{access.remove.text}</p>
              {isYou(known, "user", name) && <p>{access.revoke.ownCredential}</p>}
            </ConfirmButton>
          </div>
        </li>
      ))}
    </ul>
  );
}

const isYou = (
  { signed_in_as: own }: AccessReply,
  credential: "token" | "user",
  name: string,
): boolean => own !== null && own.credential === credential && own.name === name;

const Name = ({ name, isYou }: { name: string; isYou: boolean }) => (
  <strong class="name">
    {name} {isYou && <span class="you">{access.you}</span>}
  </strong>
);

const LabeledValue = ({ name, children }: { name: string; children: string }) => (
  <span>
    <span class="quiet">{name}</span> {children}
  </span>
);
