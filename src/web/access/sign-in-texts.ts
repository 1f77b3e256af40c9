export const signIn = {
  title: "Sign in",
  byToken: "With a token",
  byPassword: "With a password",
  token: "Administration token",
  tokenHint:
    "It begins with “berth_”. It is not stored: this tab gets a session of 12 hours instead.",
  wrongToken: "This token is not valid.",
  name: "Name",
  password: "Password",
  submit: "Sign in",
  getToken: {
    title: "No token yet?",
    text: "Create one in a terminal on the server. It is printed only once:",
    command: "admin token --name me",
    service: "If the server is installed as a service, the installation created one:",
    serviceCommand: "sudo cat /etc/berth/admin-token",
    password: "For a password instead of a token:",
    passwordCommand: "admin password",
  },
  tls: {
    title: "HTTPS required",
    text: "A token must not cross the network unencrypted. From another machine, this page works only over TLS.",
    commands: "On the server, once:",
    command: "tls init",
    afterwards: (url: string) => `Then start it with --listen-tls 0.0.0.0:8443 and open ${url}.`,
    link: "Open the page over HTTPS",
    authority:
      "Your browser does not trust the site’s certificate authority yet and shows a warning. Import the file tls/ca.pem from the server’s data folder, and compare the fingerprint that the command printed.",
    plainHttp: "Sign in over plain HTTP anyway",
    plainHttpText:
      "This works only if the operator has set allow_plain_credentials, or on the server itself. Anyone who listens on the network can read what you type.",
  },
  network: {
    title: "Network not allowed",
    text: "Use a browser on the server itself, or ask the operator to add your network to admin_networks.",
  },
  sessionEnded: "This session has expired. Sign in again.",
} as const;

export const unclaimed = {
  line: "Administration is open to everybody on this machine.",
  createToken: "Create the admin token",
  tokenCreated: {
    title: "Your administration token",
    text: "It is shown only once. Keep it where you keep passwords. It expires after one year. This tab is signed in.",
  },
} as const;
