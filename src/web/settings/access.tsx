import type { AccessReply } from "../../http/routes/access.ts";
import { admin, done } from "../api.ts";
import { date } from "../format.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { settings } from "../texts/settings.ts";
import { NewToken } from "./new-token.tsx";
import { OnTerminal } from "../parts/on-terminal.tsx";
import { SetUser } from "./set-user.tsx";

const { access } = settings;

interface Props {
  readonly known: AccessReply;
  readonly again: () => Promise<void>;
}

/** Tokens and users; their secrets are not even here. */
export const Access = () => (
  <Loaded ask={() => done(admin.access.get())}>
    {(known, again) => (
      <>
        <section class="card">
          <h3>{access.tokens}</h3>
          {!known.credential_required && <Notice kind="warn">{access.open}</Notice>}
          <p class="quiet">{access.tokensAbout}</p>
          <Tokens known={known} again={again} />
          <NewToken again={again} />
        </section>
        <section class="card">
          <h3>{access.users}</h3>
          <p class="quiet">{access.usersAbout}</p>
          <Users known={known} again={again} />
          <SetUser again={again} />
        </section>
        <OnTerminal commands={access.commands} />
      </>
    )}
  </Loaded>
);

function Tokens({ known, again }: Props) {
  if (known.tokens.length === 0) return <p>{access.noTokens}</p>;
  return (
    <ul class="rows">
      {known.tokens.map(({ name, created_at, expires_at, is_expired }) => (
        <li key={name}>
          <Name name={name} isYou={isYou(known, "token", name)} />
          <Fact name={access.made}>{date(created_at)}</Fact>
          <Fact name={access.ends}>{endOf(expires_at, is_expired)}</Fact>
          <Confirm
            act={access.revoke.act}
            label={access.revoke.label(name)}
            title={access.revoke.title(name)}
            onConfirm={async () => {
              await done(admin.access.tokens.revoke.post({ name }));
              await again();
            }}
          >
            <p>{access.revoke.text}</p>
            {isYou(known, "token", name) && <p>{access.revoke.own}</p>}
          </Confirm>
        </li>
      ))}
    </ul>
  );
}

function endOf(end: string | null, hasEnded: boolean): string {
  if (end === null) return access.never;
  return hasEnded ? access.ended(date(end)) : date(end);
}

function Users({ known, again }: Props) {
  if (known.users.length === 0) return <p>{access.noUsers}</p>;
  return (
    <ul class="rows">
      {known.users.map(({ name, role, password_set_at }) => (
        <li key={name}>
          <Name name={name} isYou={isYou(known, "user", name)} />
          <Fact name={access.role}>{access.roles[role] ?? role}</Fact>
          <Fact name={access.set}>{date(password_set_at)}</Fact>
          <div class="row">
            <SetUser user={{ name, role }} again={again} />
            <Confirm
              act={access.remove.act}
              label={access.remove.label(name)}
              title={access.remove.title(name)}
              onConfirm={async () => {
                await done(admin.access.users.remove.post({ name }));
                await again();
              }}
            >
              <p>{access.remove.text}</p>
              {isYou(known, "user", name) && <p>{access.revoke.own}</p>}
            </Confirm>
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

const Fact = ({ name, children }: { name: string; children: string }) => (
  <span>
    <span class="quiet">{name}</span> {children}
  </span>
);
