import { Button } from "../parts/button.tsx";
import { frame } from "../parts/common-texts.ts";
import { signOut } from "./sign-out.ts";

export const SignOutButton = () => <Button onClick={signOut}>{frame.account.signOut}</Button>;
