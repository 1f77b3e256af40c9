import type { AccessReply } from "../../http/routes/access.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatDate } from "../format.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { AsyncContent } from "../parts/async-content.tsx";
import { Notice } from "../parts/notice.tsx";
import { settings } from "./settings-texts.ts";
import { NewToken } from "./new-token.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";
import { SetUser } from "./set-user.tsx";

const { access: texts } = settings;

interface Props {
  readonly access: AccessReply;
  readonly reload: () => Promise<void>;
}

/** Tokens and users; the server does not send their secrets. */
export const Access = () => (
  <AsyncContent load={() => unwrapReply(admin.access.get())}>
    {(access, reload) => (
      <>
        <section class="card">
          <h3>{texts.tokens}</h3>
          {!access.credential_required && <Notice kind="warn">{texts.unclaimed}</Notice>}
          <p class="muted">{texts.tokensAbout}</p>
          <Tokens access={access} reload={reload} />
          <NewToken reload={reload} />
        </section>
        <section class="card">
          <h3>{texts.users}</h3>
          <p class="muted">{texts.usersAbout}</p>
          <Users access={access} reload={reload} />
          <SetUser reload={reload} />
        </section>
        <CliCommands commands={texts.commands} />
      </>
    )}
  </AsyncContent>
);

function Tokens({ access, reload }: Props) {
  if (access.tokens.length === 0) return <p>{texts.noTokens}</p>;
  return (
    <ul class="rows">
      {access.tokens.map(({ name, created_at, expires_at, is_expired }) => (
        <li key={name}>
          <Name name={name} isYou={isYou(access, "token", name)} />
          <LabeledValue name={texts.createdAt}>{formatDate(created_at)}</LabeledValue>
          <LabeledValue name={texts.expiresAt}>{expiryText(expires_at, is_expired)}</LabeledValue>
          <ConfirmButton
            actionLabel={texts.revoke.act}
            label={texts.revoke.label(name)}
            title={texts.revoke.title(name)}
            onConfirm={async () => {
              await unwrapReply(admin.access.tokens.revoke.post({ name }));
              await reload();
            }}
          >
            <p>{texts.revoke.text}</p>
            {isYou(access, "token", name) && <p>{texts.revoke.ownCredential}</p>}
          </ConfirmButton>
        </li>
      ))}
    </ul>
  );
}

function expiryText(end: string | null, isExpired: boolean): string {
  if (end === null) return texts.noExpiry;
  return isExpired ? texts.expired(formatDate(end)) : formatDate(end);
}

function Users({ access, reload }: Props) {
  if (access.users.length === 0) return <p>{texts.noUsers}</p>;
  return (
    <ul class="rows">
      {access.users.map(({ name, role, password_set_at }) => (
        <li key={name}>
          <Name name={name} isYou={isYou(access, "user", name)} />
          <LabeledValue name={texts.role}>{texts.roles[role] ?? role}</LabeledValue>
          <LabeledValue name={texts.passwordSetAt}>{formatDate(password_set_at)}</LabeledValue>
          <div class="row">
            <SetUser user={{ name, role }} reload={reload} />
            <ConfirmButton
              actionLabel={texts.remove.act}
              label={texts.remove.label(name)}
              title={texts.remove.title(name)}
              onConfirm={async () => {
                await unwrapReply(admin.access.users.remove.post({ name }));
                await reload();
              }}
            >
              <p>{texts.remove.text}</p>
              {isYou(access, "user", name) && <p>{texts.revoke.ownCredential}</p>}
            </ConfirmButton>
          </div>
        </li>
      ))}
    </ul>
  );
}

const isYou = (
  { signed_in_as: signedInAs }: AccessReply,
  credential: "token" | "user",
  name: string,
): boolean =>
  signedInAs !== null && signedInAs.credential === credential && signedInAs.name === name;

const Name = ({ name, isYou }: { name: string; isYou: boolean }) => (
  <strong class="name">
    {name} {isYou && <span class="you">{texts.you}</span>}
  </strong>
);

const LabeledValue = ({ name, children }: { name: string; children: string }) => (
  <span>
    <span class="muted">{name}</span> {children}
  </span>
);
