/** Options files as sites write them, from a few lines to many. */
export const OPTIONS_FILES = {
  /** One team, one feature. */
  small: `# CAD for the design office
GROUP design ada grace linus
INCLUDE cad_base GROUP design
RESERVE 1 cad_base USER ada
`,

  /** Several teams, with limits and reservations. */
  teams: `#
# options file of the simulation cluster
#
REPORTLOG +/var/log/flexlm/report.log
DEBUGLOG +/var/log/flexlm/debug.log
GROUPCASEINSENSITIVE ON

GROUP sim Ada Grace \\
          Linus \\
          Ken
GROUP sim Barbara
GROUP contractors eve mallory
HOST_GROUP farm node01 node02 10.20.30.*

EXCLUDE solver GROUP contractors
RESERVE 2 solver GROUP sim
RESERVE 1 solver GROUP sim
RESERVE 4 solver HOST_GROUP farm
MAX 3 solver USER ALL_USERS
MAX 6 solver HOST_GROUP farm
MAX 1 mesher GROUP contractors
TIMEOUT solver 3600
TIMEOUTALL 7200
`,

  /** Borrowing. */
  borrow: `GROUP field ada grace
GROUP interns tim
INCLUDE_BORROW cad GROUP field
EXCLUDE_BORROW cad GROUP interns
EXCLUDE_BORROW cad HOST kiosk-1
MAX_BORROW_HOURS cad 168
MAX_BORROW_HOURS cad 72
BORROW_LOWWATER cad 3
LINGER cad 60
`,

  /** Addresses of both kinds, and everything for all features. */
  networks: `INCLUDE viewer INTERNET 10.1.*.*
INCLUDE viewer INTERNET 192.168.7.12
INCLUDE viewer INTERNET fec0:1:2:*:*:*:*:*
INCLUDE viewer HOST 172.16.5.*
EXCLUDE viewer INTERNET 10.*.3.4
EXCLUDEALL INTERNET 10.1.99.*
EXCLUDEALL USER mallory
INCLUDEALL GROUP admins
GROUP admins root
MAX 10 editor HOST big-server
`,

  /** What has no equivalent, and what is wrong. */
  refused: `INCLUDE cad PROJECT apollo
RESERVE 1 cad DISPLAY /dev/tty7
EXCLUDE cad GROUP nosuchgroup
INCLUDE cad:VERSION=2.0 USER ada
INCLUDE "cad KEY=ABCDEF" USER ada
RESERVE two cad USER ada
RESERVE 0 cad USER ada
MAX 2 cad
INCLUDE cad PLANET mars
NOLOG DENIED
FQDN_MATCHING EXACT
DAEMON_SELECT_TIMEOUT 300
AUTOMATIC_REREAD OFF
MAX_OVERDRAFT cad 2
INCLUDE_ENTITLEMENT ent1 USER ada
ACTIVATION_LOWWATER cad 1
FROBNICATE cad USER ada
FEATURE cad vendord 1.0 permanent 10 SIGN=0
INTERNET 10.1.*.*
GROUP
GROUPCASEINSENSITIVE PERHAPS
MAX_BORROW_HOURS cad 0
BORROW_LOWWATER cad
EXCLUDE cad USER "unclosed
EXCLUDE cad USER a*
GROUP stars x*
EXCLUDE cad GROUP stars
`,

  /** A vendor with qualifiers, quotation marks and remarks. */
  qualified: `USER_GROUP "power users" ada grace
RESERVE 2 "MATLAB asset_info=123456" GROUP "power users"
INCLUDE MATLAB:asset_info=123456 GROUP "power users" # only these
INCLUDE SIMULINK USER ada grace
MAX 5 SIMULINK USER ada
MAX 0 SIMULINK USER eve
MAX 2 SIMULINK GROUP ALL_GROUPS
`,
} as const;
