import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { berthCommand } from "../commands.ts";
import { Command } from "../parts/command.tsx";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { accessState, accessMessage } from "../session.ts";
import { signIn } from "./sign-in-texts.ts";
import { signInWithPassword, signInWithToken } from "./start-session.ts";
import { isRemotePlainHttp } from "./remote-plain-http.ts";
import { recall, remember } from "../remembered.ts";

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
      <Command text={berthCommand(signIn.tls.command)} />
      <p>{signIn.tls.afterwards(url)}</p>
      <a class="button main" href={url}>
        {signIn.tls.link}
      </a>
      <p>{signIn.tls.authority}</p>
    </section>
  );
}

function SignInForms() {
  const [First, Second] =
    readPreferredMethod() === "password" ? [PasswordForm, TokenForm] : [TokenForm, PasswordForm];
  return (
    <div class="sign-in">
      <section class="card">
        <h2>{signIn.title}</h2>
        {accessMessage.value !== "" && <Notice kind="warn">{signIn.sessionEnded}</Notice>}
        <First isFirst />
        <Second isFirst={false} />
      </section>
      <section class="card">
        <h2>{signIn.getToken.title}</h2>
        <p>{signIn.getToken.text}</p>
        <Command text={berthCommand(signIn.getToken.command)} />
        <p>{signIn.getToken.service}</p>
        <Command text={signIn.getToken.serviceCommand} />
        <p>{signIn.getToken.password}</p>
        <Command text={berthCommand(signIn.getToken.passwordCommand)} />
      </section>
    </div>
  );
}

interface MethodProps {
  /** The first form has the focus and the main button. */
  readonly isFirst: boolean;
}

function TokenForm({ isFirst }: MethodProps) {
  const token = useSignal("");
  const submit = async (): Promise<void> => {
    await signInWithToken(token.value.trim());
    rememberMethod("token");
  };
  return (
    <Method title={signIn.byToken} isFirst={isFirst} onSubmit={submit}>
      <Field
        label={signIn.token}
        type="password"
        value={token}
        hint={signIn.tokenHint}
        hasFocus={isFirst}
        required
      />
    </Method>
  );
}

function PasswordForm({ isFirst }: MethodProps) {
  const name = useSignal("");
  const password = useSignal("");
  const submit = async (): Promise<void> => {
    await signInWithPassword(name.value, password.value);
    rememberMethod("password");
  };
  return (
    <Method title={signIn.byPassword} isFirst={isFirst} onSubmit={submit}>
      <Field label={signIn.name} value={name} autocomplete="username" hasFocus={isFirst} required />
      <Field
        label={signIn.password}
        type="password"
        value={password}
        autocomplete="current-password"
        required
      />
    </Method>
  );
}

interface FormProps extends MethodProps {
  readonly title: string;
  readonly onSubmit: () => Promise<void>;
  readonly children: ComponentChildren;
}

function Method({ title, isFirst, onSubmit, children }: FormProps) {
  const id = useId();
  return (
    <section class="sign-in-method" aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      <Form submitLabel={signIn.submit} submitKind={isFirst ? "main" : "plain"} onSubmit={onSubmit}>
        {children}
      </Form>
    </section>
  );
}

const NAME = "sign-in";

type SignInMethod = "token" | "password";

/**
 * The last sign-in method of this browser: that form comes first. The server does not say
 * whether users exist before a sign-in.
 */
const readPreferredMethod = (): SignInMethod =>
  recall(NAME) === "password" ? "password" : "token";

const rememberMethod = (method: SignInMethod): void => remember(NAME, method);
