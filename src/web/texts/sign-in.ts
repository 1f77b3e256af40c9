export const signIn = {
  title: "Sign in",
  byToken: "With a token",
  byPassword: "With a password",
  token: "Administration token",
  tokenHint: "It begins with “berth_” and is kept by this tab only, until you close or reload it.",
  name: "Name",
  password: "Password",
  submit: "Sign in",
  getToken: {
    title: "No token yet?",
    text: "Whoever has a terminal on the server makes one. It is printed once:",
    command: "berth admin token --name me",
    service: "A server installed as a service made one when it was installed:",
    serviceCommand: "sudo cat /etc/berth/admin-token",
    password: "For a password instead of a token:",
    passwordCommand: "berth admin password",
  },
  tls: {
    title: "Come in by https",
    text: "A token must not cross the network in the clear, so from another machine this page administers over TLS only.",
    commands: "On the server, once:",
    command: "berth tls init",
    afterwards: (url: string) => `Then start it with --listen-tls 0.0.0.0:8443 and open ${url}.`,
    link: "Open the page over https",
    authority:
      "Your browser does not know the site’s own authority yet and warns. Give it the file tls/ca.pem from the server’s data folder, and compare the fingerprint that the command printed.",
    plainHttp: "Sign in over plain HTTP all the same",
    plainHttpText:
      "Only where the operator has set allow_plain_credentials, or on the server itself. Whoever listens on the network can read what you type.",
  },
  network: {
    title: "Not from here",
    text: "Sit down at the server itself, or let its operator add your network to admin_networks.",
  },
  refused: "That was not accepted.",
  sessionEnded: {
    title: "Please sign in again",
    text: "What this tab was signed in with has ended or was revoked. You will come back to where you were.",
  },
} as const;

export const unclaimed = {
  title: "Anybody on this machine can administer",
  text: "No administration token has been made yet. Make one now: from then on every call that administers has to show it, from this machine too.",
  createToken: "Make the token",
  command: "berth admin token --name me",
  tokenCreated: {
    title: "Your administration token",
    text: "It is shown this once. Keep it where you keep passwords; this tab is signed in with it.",
  },
} as const;
