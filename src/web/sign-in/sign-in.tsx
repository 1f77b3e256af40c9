import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { call } from "../api.ts";
import { watch } from "../live.ts";
import { Command } from "../parts/command.tsx";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { door, doorMessage, signIn as enterWith } from "../session.ts";
import { signIn } from "../texts/sign-in.ts";
import { isInTheClear } from "./in-the-clear.ts";

/** Whatever stands between this page and administration, and the way past it. */
export function SignIn() {
  switch (door.value) {
    case "tls":
      return <ByTls />;
    case "network":
      return (
        <section class="card narrow">
          <h2>{signIn.network.title}</h2>
          <p>{doorMessage.value}</p>
          <p>{signIn.network.text}</p>
        </section>
      );
    default:
      return isInTheClear(location) ? (
        <>
          <ByTls />
          <details class="anyway">
            <summary>{signIn.tls.anyway}</summary>
            <p>{signIn.tls.anywayText}</p>
            <ByCredential />
          </details>
        </>
      ) : (
        <ByCredential />
      );
  }
}

function ByTls() {
  const url = `https://${location.hostname}:8443/`;
  return (
    <section class="card narrow">
      <h2>{signIn.tls.title}</h2>
      <p>{signIn.tls.text}</p>
      <p>{signIn.tls.commands}</p>
      <Command text={signIn.tls.command} />
      <p>{signIn.tls.afterwards(url)}</p>
      <a class="button main" href={url}>
        {signIn.tls.link}
      </a>
      <p>{signIn.tls.authority}</p>
    </section>
  );
}

function ByCredential() {
  return (
    <div class="sign-in">
      <section class="card">
        <h2>{signIn.title}</h2>
        {doorMessage.value !== "" && (
          <Notice kind="warn" title={signIn.ended.title}>
            {signIn.ended.text}
          </Notice>
        )}
        <ByToken />
        <ByPassword />
      </section>
      <section class="card">
        <h2>{signIn.how.title}</h2>
        <p>{signIn.how.text}</p>
        <Command text={signIn.how.command} />
        <p>{signIn.how.service}</p>
        <Command text={signIn.how.serviceCommand} />
        <p>{signIn.how.password}</p>
        <Command text={signIn.how.passwordCommand} />
      </section>
    </div>
  );
}

function ByToken() {
  const token = useSignal("");
  return (
    <Way title={signIn.byToken} open onSubmit={() => enter(token.value.trim())}>
      <Field
        label={signIn.token}
        type="password"
        value={token}
        hint={signIn.tokenHint}
        autocomplete="current-password"
        required
      />
    </Way>
  );
}

function ByPassword() {
  const name = useSignal("admin");
  const password = useSignal("");
  const submit = async (): Promise<void> => {
    // As UTF-8, which btoa alone does not take.
    const bytes = new TextEncoder().encode(`${name.value}:${password.value}`);
    const basic = btoa(String.fromCharCode(...bytes));
    const response = await call("/auth", { headers: { authorization: `Basic ${basic}` } });
    await enter(((await response.json()) as { readonly token: string }).token);
  };
  return (
    <Way title={signIn.byPassword} onSubmit={submit}>
      <Field label={signIn.name} value={name} autocomplete="username" required />
      <Field
        label={signIn.password}
        type="password"
        value={password}
        autocomplete="current-password"
        required
      />
    </Way>
  );
}

/** A wrong one is told at once, not by the first thing that fails. */
async function enter(token: string): Promise<void> {
  await call("/api/admin/v1/status", { headers: { authorization: `Bearer ${token}` } });
  enterWith(token);
  void watch();
}

interface WayProps {
  readonly title: string;
  readonly open?: boolean;
  readonly onSubmit: () => Promise<void>;
  readonly children: ComponentChildren;
}

const Way = ({ title, open = false, onSubmit, children }: WayProps) => (
  <details open={open}>
    <summary>{title}</summary>
    <Form act={signIn.enter} wrongTitle={signIn.wrong} onSubmit={onSubmit}>
      {children}
    </Form>
  </details>
);
