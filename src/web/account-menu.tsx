import { frame } from "./parts/common-texts.ts";
import { session } from "./session.ts";
import { SignOutButton } from "./access/sign-out-button.tsx";
import { ThemeChooser } from "./theme.tsx";

const MENU_ID = "account-menu";

/** Who is signed in, the theme, the API documentation, and signing out. */
export function AccountMenu() {
  const { value: account } = session;
  return (
    <>
      <button
        type="button"
        class="button account"
        popovertarget={MENU_ID}
        aria-label={account === null ? frame.account.menu : frame.account.label(account.name)}
      >
        <span class="account-name">{account?.name ?? frame.account.menu}</span>
        <span aria-hidden="true">☰</span>
      </button>
      <div class="account-menu card" id={MENU_ID} popover="auto">
        <p class="signed-in-as">
          <strong>{account?.name ?? frame.account.notSignedIn}</strong>
          {account !== null && <span class="muted">{frame.account.role(account.role)}</span>}
        </p>
        <ThemeChooser />
        {/* A tab of its own, which gets a copy of the session: only an opener can give it. */}
        <a href="/api/v4/docs" target="_blank" rel="opener">
          {frame.account.docs}
          <span class="visually-hidden">, {frame.account.newTab}</span>
        </a>
        {account !== null && <SignOutButton />}
      </div>
    </>
  );
}
