import { signal } from "@preact/signals";
import { admin, unwrapReply } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { OneTimeSecret } from "../parts/one-time-secret.tsx";
import { canChange } from "../session.ts";
import { serverStatus } from "../status-stream.ts";
import { unclaimed } from "./sign-in-texts.ts";
import { signInWithToken } from "./start-session.ts";

/** Shown once, on whatever view it was created. */
const createdToken = signal<string | null>(null);

/** Creates the admin token that protects a new server, and signs this tab in with it. */
export const CreateFirstToken = ({ kind }: { kind: "main" | "plain" }) =>
  canChange.value && (
    <Button kind={kind} onClick={createFirstToken}>
      {unclaimed.createToken}
    </Button>
  );

async function createFirstToken(): Promise<void> {
  const reply = await unwrapReply(admin.access.tokens.post({ name: "page", role: "admin" }));
  createdToken.value = reply.token;
  await signInWithToken(reply.token);
}

/** The token that was created just now, until the operator has saved it. */
export function CreatedToken() {
  const close = (): void => {
    createdToken.value = null;
  };
  if (createdToken.value === null) return null;
  return <OneTimeSecret {...unclaimed.tokenCreated} secret={createdToken.value} onClose={close} />;
}

/** A line for the views that do not list the findings. */
export function UnclaimedLine() {
  const isOpen = serverStatus.value?.findings.some(
    ({ code, severity }) => code === "admin_open" && severity !== "note",
  );
  if (isOpen !== true) return null;
  return (
    <div class="unclaimed" role="status">
      <span>{unclaimed.line}</span>
      <CreateFirstToken kind="plain" />
    </div>
  );
}
