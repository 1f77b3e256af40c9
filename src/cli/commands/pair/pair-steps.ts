/** `berth help pair`: what to do on which host. */
export const PAIR_STEPS = `to form a pair:
  1. On the first host: set pair_log to an empty PostgreSQL database, and restart the server
  2. On the second host: berth pair request FILE
  3. On the first host: berth pair admit FILE ADMISSION; compare the fingerprint by voice
  4. On the second host: set the same pair_log; berth pair join ADMISSION; start the server

to end it, or to replace the database:
  on the host that leads: berth pair leave, remove pair_log, and restart the server
  to form a pair again, begin with step 1 and another empty database

if the database is lost, on the host that goes on alone, with both hosts stopped:
  berth pair leave --without-database
  changes that only the database had are lost; keep the other host stopped

to replace a host:
  steps 2 to 4 on the new machine, with the same --pair-host, while the other host leads
  then new licenses: berth license request --hosts 2 on the host that leads

to restore a backup: end the pair first, restore, and form the pair again`;
