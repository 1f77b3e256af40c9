import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { fetchResponse } from "../api.ts";
import { watchStatus } from "../status-stream.ts";
import { Command } from "../parts/command.tsx";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { accessState, accessMessage, signIn as startSession } from "../session.ts";
import { signIn } from "./sign-in-texts.ts";
import { isRemotePlainHttp } from "./remote-plain-http.ts";

/** Shown instead of a view when access is denied: how to get access. */
export function SignIn() {
  switch (accessState.value) {
    case "tls":
      return <TlsRequired />;
    case "network":
      return (
        <section class="card narrow">
          <h2>{signIn.network.title}</h2>
          <p>{accessMessage.value}</p>
          <p>{signIn.network.text}</p>
        </section>
      );
    default:
      return isRemotePlainHttp(location) ? (
        <>
          <TlsRequired />
          <details class="plain-http">
            <summary>{signIn.tls.plainHttp}</summary>
            <p>{signIn.tls.plainHttpText}</p>
            <SignInForms />
          </details>
        </>
      ) : (
        <SignInForms />
      );
  }
}

function TlsRequired() {
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

function SignInForms() {
  return (
    <div class="sign-in">
      <section class="card">
        <h2>{signIn.title}</h2>
        {accessMessage.value !== "" && (
          <Notice kind="warn" title={signIn.sessionEnded.title}>
            {signIn.sessionEnded.text}
          </Notice>
        )}
        <TokenForm />
        <PasswordForm />
      </section>
      <section class="card">
        <h2>{signIn.getToken.title}</h2>
        <p>{signIn.getToken.text}</p>
        <Command text={signIn.getToken.command} />
        <p>{signIn.getToken.service}</p>
        <Command text={signIn.getToken.serviceCommand} />
        <p>{signIn.getToken.password}</p>
        <Command text={signIn.getToken.passwordCommand} />
      </section>
    </div>
  );
}

function TokenForm() {
  const token = useSignal("");
  return (
    <SignInMethod title={signIn.byToken} open onSubmit={() => signInWithToken(token.value.trim())}>
      <Field
        label={signIn.token}
        type="password"
        value={token}
        hint={signIn.tokenHint}
        autocomplete="current-password"
        required
      />
    </SignInMethod>
  );
}

function PasswordForm() {
  const name = useSignal("admin");
  const password = useSignal("");
  const submit = async (): Promise<void> => {
    // btoa takes Latin-1 only: encode as UTF-8 first.
    const bytes = new TextEncoder().encode(`${name.value}:${password.value}`);
    const basic = btoa(String.fromCharCode(...bytes));
    const response = await fetchResponse("/auth", { headers: { authorization: `Basic ${basic}` } });
    await signInWithToken(((await response.json()) as { readonly token: string }).token);
  };
  return (
    <SignInMethod title={signIn.byPassword} onSubmit={submit}>
      <Field label={signIn.name} value={name} autocomplete="username" required />
      <Field
        label={signIn.password}
        type="password"
        value={password}
        autocomplete="current-password"
        required
      />
    </SignInMethod>
  );
}

/** Checks the token with a request, so that a wrong one is reported at sign-in. */
async function signInWithToken(token: string): Promise<void> {
  await fetchResponse("/api/admin/v1/status", { headers: { authorization: `Bearer ${token}` } });
  startSession(token);
  void watchStatus();
}

interface SignInMethodProps {
  readonly title: string;
  readonly open?: boolean;
  readonly onSubmit: () => Promise<void>;
  readonly children: ComponentChildren;
}

const SignInMethod = ({ title, open = false, onSubmit, children }: SignInMethodProps) => (
  <details open={open}>
    <summary>{title}</summary>
    <Form submitLabel={signIn.submit} wrongTitle={signIn.refused} onSubmit={onSubmit}>
      {children}
    </Form>
  </details>
);
