import { Button } from "../parts/button.tsx";
import { frame } from "../parts/common-texts.ts";
import { fetchResponse } from "../api.ts";
import { forgetSession, session } from "../session.ts";

export const SignOutButton = () => <Button onClick={signOut}>{frame.account.signOut}</Button>;

/** Signing out does not wait longer for a server that does not answer. */
const TIMEOUT = 3_000;

/**
 * Revokes the session on the server and loads the page anew, so that nothing of what it held stays
 * in memory.
 */
async function signOut(): Promise<void> {
  const id = session.value?.id;
  try {
    if (id !== undefined) {
      await fetchResponse("/api/admin/v1/sessions/revoke", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ id }),
        timeout: TIMEOUT,
      });
    }
  } catch {
    // It has ended already, or it ends by itself: this tab forgets it in any case.
  }
  forgetSession();
  location.replace("/");
}
